"""A person's own run and the reference's beside it, from what the judge tells of them. No Streamlit here."""

from dataclasses import dataclass
from typing import Any

from core.attention import GroupedQueryAttention, RoPE
from core.errors import BadInput
from core.judge import Judge
from core.judge.client import Failed
from core.pitfalls import reference
from core.trace import Trace
from core.trace.portable import load
from pages._ui.walk.runs import DEFAULTS

LIMITS = {"B": (1, 4), "L": (1, 16), "Lk": (1, 16), "d_model": (1, 64), "n_heads": (1, 8), "n_kv_heads": (1, 8)}


@dataclass(frozen=True)
class Setup:
    """A problem, the code that is to solve it, and sizes by their names in `runs`; those left out are as usual."""

    problem: str
    source: str
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Walked:
    """One call of the code. `reference` is None where its weights cannot be given to the reference.

    `pairs` has for each own step the index of the reference's step to be seen beside it, `at` is the index of the
    first own step that is none of the reference's; None where all are.
    """

    own: Trace
    reference: Trace | None
    pairs: tuple[int, ...]
    at: int | None


def sizes_of(problem: str) -> tuple[str, ...]:
    """The names of the sizes that a problem's runs have."""
    contract = reference(problem)
    keys = ("Lk",) if "context" in contract.takes or "k" in contract.takes else ()
    shared = ("n_kv_heads",) if "n_kv_heads" in (contract.arguments or ()) else ()
    return ("B", "L", *keys, "d_model", "n_heads", *shared)


def walk(judge: Judge, setup: Setup) -> Walked:
    """Have the code run in the judge's sandbox. Raises Explained where there is nothing to walk through."""
    sizes = DEFAULTS | dict(setup.sizes)
    named = sizes_of(setup.problem)
    d_model, n_heads = sizes["d_model"], sizes["n_heads"]
    GroupedQueryAttention(d_model, n_heads, sizes["n_kv_heads"] if "n_kv_heads" in named else n_heads)  # or it says why
    if setup.problem == "rope":
        RoPE(d_model // n_heads)
    lengths = {"L": sizes["L"], "Lk": sizes["Lk"] if "Lk" in named else sizes["L"]}
    heads = {"H": n_heads, "H_kv": sizes["n_kv_heads"] if "n_kv_heads" in named else n_heads}
    given = {"B": sizes["B"], **lengths, **heads, "d_h": d_model // n_heads}
    return read(setup, judge.judge(setup.problem, setup.source, walk=given))


def read(setup: Setup, told: dict[str, Any]) -> Walked:
    """The traces, checked: all that is `told` of the code comes from the code. Raises Explained."""
    error = told["error"]
    if error is not None and "code" in error:
        raise BadInput(error["code"], **{name: _tuple(value) for name, value in error["params"].items()})
    if error is not None:
        raise Failed(f"judge.sandbox-{'grader-late' if error['kind'] == 'timeout' else 'grader-ended'}", seconds=20)
    right = reference(setup.problem)
    try:
        own = load(told["own"], sources={"<submission>": setup.source})
        beside = told["reference"] and load(told["reference"], sources={right.filename: right.source})
    except ValueError:
        raise BadInput("judge.sandbox-garbled") from None
    return Walked(own, beside, tuple(told["pairs"]), told["parts_at"])


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
