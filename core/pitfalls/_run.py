"""Runs a wrong source beside the reference, with the same weights and the same inputs, and says what it shows."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from core.pitfalls._change import Changed, apply, unchanged
from core.pitfalls.schema import Case, Entry, Shows

if TYPE_CHECKING:
    from torch import Tensor

    from core.pitfalls._play import Played

_TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Relative to the largest number: far above rounding, and for float64 far below any mistake."""


@dataclass(frozen=True)
class Outcome:
    """What really happened. Only `shows` and `case` are always there; the rest as far as it came.

    `call` counts from 0 the calls of a reference with a cache (after the chunks comes one more, which goes on from the
    first call's cache with other tokens); `output` is "out" or "attn". Both say where the run first parts from the
    reference, and shapes, numbers and `index` belong there.
    """

    case: Case
    shows: Shows
    error: str | None = None
    """The exception as Python prints its last line."""
    error_line: int | None = None
    """The line of the wrong source that raised it; None for an error in backward."""
    expected_error: str | None = None
    """What the reference raises, where it does."""
    returned: str | None = None
    """What was returned where it is not what the reference returns, such as tuple (Tensor, Tensor)."""
    call: int = 0
    output: str = "out"
    shape: tuple[int, ...] | None = None
    expected_shape: tuple[int, ...] | None = None
    difference: float | None = None
    """The largest absolute difference, over numbers that are finite in both."""
    largest: float | None = None
    """The largest absolute value that is expected, to judge the difference by."""
    index: tuple[int, ...] | None = None
    """Where the difference is largest; or the first place that has nan or inf in one of the two alone."""
    found: float | None = None
    expected: float | None = None
    nan_share: float | None = None
    """The share of numbers that are nan or inf and should not be."""
    repeats: bool = True
    """Whether the same call gives the same numbers once more."""
    gradients: tuple[str, ...] = ()
    """Parameters and inputs whose gradient is missing or another."""
    weights: tuple[str, ...] = field(default=())
    """Parameters that only one of them has, or in other sizes: name, shape in the reference → shape here."""
    written: tuple[str, ...] = ()
    """Inputs that were written into, and caches that had been handed out: "cache 1" is that of call 1."""
    cache_bytes: tuple[int, int] | None = None
    """Of the last cache: the reference's and this one's."""


def run(entry: Entry, case: Case | None = None, *, form: str | None = None, reference: str | None = None) -> Outcome:
    """Make the mistake and run it beside the reference. Raises BadInput as `apply` and `compare` do."""
    return compare(apply(entry, form=form, reference=reference), case)


def compare(changed: Changed, case: Case | None = None) -> Outcome:
    """Run a changed reference beside the reference itself on `case`, the generic one where none is given.

    Both get the same weights, by name; nothing global is set. A case with `backend` "math" is run like any other: the
    caller has to call this under ``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)``, which holds for all threads.
    Raises BadInput for a case that does not fit the reference.
    """
    import torch

    from core.pitfalls import _cases, _play

    case = case or Case()
    reference = changed.reference
    with torch.enable_grad():
        right = _cases.build(unchanged(reference.name), case)
        wrong = _cases.build(changed, case)
        weights = _cases.draw_weights(right.made, wrong.made)
        played = [_play.play(built, reference, _cases.inputs(reference, case, leaves=True)) for built in (right, wrong)]
        outcome = _outcome(case, *played, weights)
        if outcome.error is None and outcome.returned is None:
            again = _play.play(wrong, reference, _cases.inputs(reference, case), seed=1)
            pairs = zip(played[1].outputs, again.outputs, strict=False)
            repeats = all(_play.same(a[name], b[name], tolerance=1e-10) for a, b in pairs for name in a)
            outcome = replace(outcome, repeats=repeats)
    return outcome


def _outcome(case: Case, right: "Played", wrong: "Played", weights: tuple[str, ...]) -> Outcome:
    if right.error is not None:
        return _refused(case, right.error, wrong)
    base = Outcome(case=case, shows="same", weights=weights, written=wrong.written)
    if wrong.error is not None:
        text = _text(wrong.error)
        return replace(base, shows="raises", error=text, error_line=wrong.line, call=_last(wrong))
    if wrong.returned:
        return replace(base, shows="returns", returned=wrong.returned, call=_last(wrong))
    found = [
        _numbers(base, outputs[name], expected, call, name)
        for call, (outputs, expecteds) in enumerate(zip(wrong.outputs, right.outputs, strict=True))
        for name, expected in expecteds.items()
    ]
    for shows in ("shape", "nan", "numbers"):
        if first := next((one for one in found if one.shows == shows), None):
            return replace(first, shows="weights") if weights and shows == "numbers" else first
    gradients = _gradients(right, wrong, _TOLERANCE[case.dtype])
    cache_bytes = (right.kept_bytes, wrong.kept_bytes) if right.kept_bytes else None
    base = replace(found[0], gradients=gradients, cache_bytes=cache_bytes)
    kinds: tuple[tuple[Shows, bool], ...] = (
        ("weights", bool(weights)),
        ("gradients", bool(gradients)),
        ("writes", bool(wrong.written)),
        ("memory", cache_bytes is not None and cache_bytes[1] > cache_bytes[0]),
    )
    return replace(base, shows=next((shows for shows, holds in kinds if holds), "same"))


def _numbers(base: Outcome, found: "Tensor", expected: "Tensor", call: int, name: str) -> Outcome:
    """What one output shows: "shape", "nan", "numbers" or "same"."""
    import torch

    shapes = {"shape": tuple(found.shape), "expected_shape": tuple(expected.shape)}
    base = replace(base, call=call, output=name, **shapes)
    if found.shape != expected.shape:
        return replace(base, shows="shape")
    if found.device.type == "meta" or expected.device.type == "meta" or not found.numel():
        return base
    found, expected = found.detach().double(), expected.detach().double()
    lost = ~found.isfinite() & expected.isfinite()
    difference = torch.where(found.isfinite() & expected.isfinite(), (found - expected).abs(), 0.0)
    gained = found.isfinite() & ~expected.isfinite()
    where = next((places.double() for places in (lost, gained) if places.any()), difference)
    index = tuple(int(i) for i in torch.unravel_index(where.argmax(), where.shape))
    largest = torch.where(expected.isfinite(), expected.abs(), 0.0).max().item()
    base = replace(
        base,
        difference=difference.max().item(),
        largest=largest,
        index=index,
        found=found[index].item(),
        expected=expected[index].item(),
        nan_share=lost.double().mean().item(),
    )
    if lost.any():
        return replace(base, shows="nan")
    tolerance = _TOLERANCE[base.case.dtype] * max(1.0, largest)
    return replace(base, shows="numbers" if gained.any() or difference.max() > tolerance else "same")


def _gradients(right: "Played", wrong: "Played", tolerance: float) -> tuple[str, ...]:
    def other(a: "Tensor | None", b: "Tensor | None") -> bool:
        if a is None or b is None:
            return a is not b
        return a.shape != b.shape or not bool(((a - b).abs() <= tolerance * (1 + a.abs().max())).all())

    return tuple(name for name, grad in right.gradients.items() if other(grad, wrong.gradients.get(name)))


def _refused(case: Case, right: Exception, wrong: "Played") -> Outcome:
    """What it shows where the reference itself raises."""
    expected = _text(right)
    if wrong.error is None:
        return Outcome(case=case, shows="accepts", expected_error=expected)
    error = _text(wrong.error)
    shows: Shows = "same" if error == expected else "raises"
    return Outcome(case=case, shows=shows, error=error, error_line=wrong.line, expected_error=expected)


def _last(played: "Played") -> int:
    return len(played.outputs)


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
