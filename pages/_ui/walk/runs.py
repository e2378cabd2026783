"""The runs that one can walk through: a set-up in, the trace of a real run out. No Streamlit here."""

from dataclasses import dataclass
from typing import Literal

import torch

from core.attention import GroupedQueryAttention
from core.trace import Trace, record

Kind = Literal["mha", "gqa", "mqa"]
KINDS: tuple[Kind, ...] = ("mha", "gqa", "mqa")
LIMITS = {"B": (1, 4), "L": (1, 64), "d_model": (1, 256), "n_heads": (1, 16), "n_kv_heads": (1, 16)}
DEFAULTS = {"B": 1, "L": 5, "d_model": 16, "n_heads": 4, "n_kv_heads": 2}


@dataclass(frozen=True)
class Setup:
    """What a person has set: which attention, and its sizes. `n_kv_heads` is used for GQA alone."""

    kind: Kind
    B: int
    L: int
    d_model: int
    n_heads: int
    n_kv_heads: int


def run(setup: Setup) -> Trace:
    """Trace the forward of `core.attention`, weights asked for, on drawn input.

    Raises BadInput for sizes that cannot work.
    """
    n_kv_heads = {"mha": setup.n_heads, "gqa": setup.n_kv_heads, "mqa": 1}[setup.kind]
    module = GroupedQueryAttention(setup.d_model, setup.n_heads, n_kv_heads).eval()
    x = torch.randn(setup.B, setup.L, setup.d_model, generator=torch.Generator().manual_seed(0))
    sizes = {"H": module.n_heads, "H_kv": module.n_kv_heads, "d_h": module.d_h}
    return record(module, x, axes={"x": "B L d_model"}, sizes=sizes, need_weights=True)
