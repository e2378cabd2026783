"""The same run as a trace, right and wrong, and the first step at which they part."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.pitfalls._change import Changed, unchanged
from core.pitfalls.schema import Case

if TYPE_CHECKING:
    from core.trace import Step, TensorState, Trace

_AXES_OF_MASK = {"causal": "{L} Lk", "padding": "B 1 1 Lk", "joint": "B 1 {L} Lk", "random": "B H {L} Lk"}
_AXES_OF_MASK["empty-row"] = _AXES_OF_MASK["joint"]
_AXES_OF_CACHE = {
    "kv_cache": ("B H_kv Lk d_h",) * 2,
    "rope": ("B H Lk d_h",) * 2,
    "mla": ("B Lk d_latent", "B 1 Lk d_rope"),
}

Aspect = Literal["error", "shape", "layout", "values", "axes", "steps"]


@dataclass(frozen=True)
class Parting:
    """Where two traces part: the call (from 0), the index of the step in both, and all aspects that differ there.

    error: one of them raises. shape, layout (strides, offset), values and axes (what they mean) are of the step's
    outputs. steps: all steps that both have are alike, and one of them has more. A step whose axes alone differ is not
    where they part: what an axis means is also learnt from what is done later.
    """

    call: int
    step: int
    aspects: tuple[Aspect, ...]


def walk(changed: Changed, case: Case | None = None) -> "tuple[Trace, ...]":
    """Trace a reference, with changes or without, on a case: one trace for each call (`Outcome.call`), all values kept.

    Weights and inputs are those of `compare`. A call that raises ends the walk; its trace has the error. Code that
    cannot even be built (a class whose `__init__` raises) raises here.
    """
    import torch

    from core.pitfalls import _cases, _play
    from core.pitfalls._dropout import SameDropout
    from core.trace import record

    case = case or Case()
    reference = changed.reference
    given = _cases.inputs(reference, case)
    right, wrong = (_cases.build(source, case) for source in (unchanged(reference.name), changed))
    if wrong.error is not None:
        raise wrong.error
    made = wrong.made
    _cases.draw_weights(right.made, made)
    L = given.axes.get("q", given.axes.get("x", "")).split()[-2]
    axes = dict(given.axes)
    if "mask" in given.given:
        axes["mask"] = _AXES_OF_MASK[case.mask].format(L=L)
    sizes = {name: given.sizes[name] for name in ("H", "d_h")}
    if "n_kv_heads" in (reference.arguments or ()):
        sizes["H_kv"] = given.sizes["H_kv"]
    sources = {changed.filename: changed.source}
    options: dict[str, Any] = {"sizes": sizes, "sources": sources, "keep_values": True}
    with torch.no_grad(), SameDropout(0):
        if not reference.cached:
            return (record(made, **given.given, axes=axes, **options),)
        traces: list[Trace] = []
        caches: list[Any] = [None]
        for x, start_from in _play.calls(given):
            cache = caches[start_from]
            named = axes if cache is None else axes | _cache_axes(reference.name, cache)
            traces.append(record(made, x, cache, axes=named, **options))
            if traces[-1].error is not None or not isinstance(traces[-1].result, tuple):
                break
            caches.append(traces[-1].result[1])
        return tuple(traces)


def part(right: "tuple[Trace, ...]", wrong: "tuple[Trace, ...]") -> Parting | None:
    """The first step at which two walks of the same case part; None where they are alike to the end."""
    for call, (one, other) in enumerate(zip(right, wrong, strict=False)):
        for step, (a, b) in enumerate(zip(one.steps, other.steps, strict=False)):
            aspects = _aspects(a, b)
            if aspects not in ((), ("axes",)):
                return Parting(call, step, aspects)
        common = min(len(one.steps), len(other.steps))
        if (one.error is None) != (other.error is None):
            return Parting(call, common, ("error",))
        if len(one.steps) != len(other.steps):
            return Parting(call, common, ("steps",))
    return None


def _aspects(one: "Step", other: "Step") -> tuple[Aspect, ...]:
    a, b = one.outputs, other.outputs
    if (one.error is None) != (other.error is None):
        return ("error",)
    if [state.shape for state in a] != [state.shape for state in b]:
        return ("shape",)
    found: list[Aspect] = []
    if [(state.stride, state.offset) for state in a] != [(state.stride, state.offset) for state in b]:
        found.append("layout")
    if not all(_alike(x, y) for x, y in zip(a, b, strict=True)):
        found.append("values")
    if [state.axes for state in a] != [state.axes for state in b]:
        found.append("axes")
    return tuple(found)


def _alike(a: "TensorState", b: "TensorState") -> bool:
    import torch

    if a.value is None or b.value is None or a.value.device.type == "meta":
        return True
    x, y = a.value.double(), b.value.double()
    return bool(torch.isclose(x, y, rtol=1e-10, atol=1e-10, equal_nan=True).all())


def _cache_axes(name: str, cache: object) -> dict[str, str]:
    """The axes of a cache's tensors, where it still has the layout that the reference gives it."""
    parts = cache if isinstance(cache, (tuple, list)) else ()
    return {
        f"cache[{i}]": axes
        for i, (part, axes) in enumerate(zip(parts, _AXES_OF_CACHE[name], strict=False))
        if getattr(part, "ndim", 0) == len(axes.split())
    }
