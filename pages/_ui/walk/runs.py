"""The runs that one can walk through: a set-up in, the trace of a real run out. No Streamlit here."""

from dataclasses import dataclass
from typing import Literal

import torch

from core.attention import GroupedQueryAttention, KVCache
from core.trace import Trace, record

Kind = Literal["mha", "gqa", "mqa", "causal", "cross", "decode"]
KINDS: tuple[Kind, ...] = ("mha", "gqa", "mqa", "causal", "cross", "decode")
LABELS: dict[Kind, str] = {  # the same in every language, so that a link may carry them
    "mha": "MHA",
    "gqa": "GQA",
    "mqa": "MQA",
    "causal": "causal",
    "cross": "cross",
    "decode": "decode",
}
SIZES: dict[Kind, tuple[str, ...]] = {
    "mha": ("B", "L", "d_model", "n_heads"),
    "gqa": ("B", "L", "d_model", "n_heads", "n_kv_heads"),
    "mqa": ("B", "L", "d_model", "n_heads"),
    "causal": ("B", "L", "d_model", "n_heads"),
    "cross": ("B", "L", "Lk", "d_model", "n_heads"),
    "decode": ("B", "Lk", "d_model", "n_heads", "n_kv_heads"),
}
"""The sizes that each kind asks for. To decode: one new token comes to Lk tokens in the cache."""
LIMITS = {"B": (1, 4), "L": (1, 64), "Lk": (1, 64), "d_model": (1, 256), "n_heads": (1, 16), "n_kv_heads": (1, 16)}
DEFAULTS = {"B": 1, "L": 5, "Lk": 7, "d_model": 16, "n_heads": 4, "n_kv_heads": 2}


@dataclass(frozen=True)
class Setup:
    """What a person has set: which attention, and its sizes. A size that the kind does not ask for is not looked at.

    `under_the_hood` records the operators that torch dispatches (aten::…) in the place of the calls that are written.
    """

    kind: Kind
    B: int = DEFAULTS["B"]
    L: int = DEFAULTS["L"]
    Lk: int = DEFAULTS["Lk"]
    d_model: int = DEFAULTS["d_model"]
    n_heads: int = DEFAULTS["n_heads"]
    n_kv_heads: int = DEFAULTS["n_kv_heads"]
    under_the_hood: bool = False


def run(setup: Setup) -> Trace:
    """Trace the forward of `core.attention`, weights asked for, on drawn input.

    Raises BadInput for sizes that cannot work.
    """
    own = setup.n_kv_heads if "n_kv_heads" in SIZES[setup.kind] else setup.n_heads
    module = GroupedQueryAttention(
        setup.d_model,
        setup.n_heads,
        1 if setup.kind == "mqa" else own,
        causal=setup.kind in ("causal", "decode"),
    ).eval()
    generator = torch.Generator().manual_seed(0)

    def tokens(count: int) -> torch.Tensor:
        return torch.randn(setup.B, count, setup.d_model, generator=generator)

    x = tokens(1 if setup.kind == "decode" else setup.L)
    axes, given = {"x": "B L d_model"}, {}
    if setup.kind == "cross":
        axes["context"], given["context"] = "B Lk d_model", tokens(setup.Lk)
    if setup.kind == "decode":
        given["cache"] = KVCache()
        module(tokens(setup.Lk), cache=given["cache"])
        axes["cache.k"] = axes["cache.v"] = "B H_kv Lk d_h"
    sizes = {"H": module.n_heads, "H_kv": module.n_kv_heads, "d_h": module.d_h}
    level = "dispatch" if setup.under_the_hood else "function"
    return record(module, x, axes=axes, sizes=sizes, level=level, need_weights=True, **given)
