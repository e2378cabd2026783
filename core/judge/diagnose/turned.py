"""Calls a submission with its mask turned, transposed, written out: what makes it right is what was wrong."""

from collections.abc import Callable

import torch
from torch import Tensor

from core.judge._compare import fault_of
from core.judge._examine import Examination, Trial
from core.judge.diagnose.findings import Finding
from core.judge.diagnose.local import filled_with
from core.judge.diagnose.locate import place_of
from core.judge.diagnose.places import Places


def of_masks(exam: Examination, places: Places) -> list[Finding]:
    """The finding whose change of the mask makes every wrong trial right; none where no change does."""
    wrong = [t for t in exam.masked if t.fault is not None and t.expected is not None]
    if not wrong or exam.base is None:
        return []
    for id, change in _CHANGES:
        if all(_is_right(exam, trial, change) for trial in wrong):
            return [Finding(id, place_of(places, id), "edit")]
    alike = [t for t in wrong if t.mask is not None and (t.mask.ndim == 2 or t.mask.shape[1] == 1)]
    if alike and all(_is_right(exam, trial, _without_heads) for trial in alike):
        return [Finding("mask-wrong-broadcast", place_of(places, "mask-wrong-broadcast"), "edit")]
    same = [t for t in exam.masked if t.case == "causal"]  # one mask for all samples and heads
    if same and all(t.fault is None for t in same):
        return [Finding("mask-wrong-broadcast", place_of(places, "mask-wrong-broadcast"), "check")]
    return _filled(exam, places, wrong) or _used(places)


def _filled(exam: Examination, places: Places, wrong: list[Trial]) -> list[Finding]:
    """A number that hides nothing: with minus infinity in its place it is right."""
    fills = [s for s in places.masked.mask_steps if s.op in ("masked_fill", "masked_fill_")]
    id = filled_with(fills)
    if not id or exam.base is None:
        return []
    edits = [{"op": fills[0].op, "line": fills[0].line, "do": "fill", "value": float("-inf")}]
    calls = [(exam.call(exam.base, t.inputs, t.mask, edits=edits), t.expected) for t in wrong]
    right = all(e is not None and fault_of(c, e, tolerance=exam.tolerance) is None for c, e in calls)
    return [Finding(id, fills[0].span, "edit" if right else "trace")]


def _used(places: Places) -> list[Finding]:
    """How the mask meets the scores, in a way that is never right; or that it does not meet them."""
    tape = places.masked
    uses = [s for s in tape.mask_steps if s.index in tape.from_x]
    if not uses and not tape.kernels:
        return [Finding("mask-ignored", place_of(places, "mask-ignored"), "trace")]
    first = uses[0] if uses else None
    ids = {"mul": "mask-multiplied", "mul_": "mask-multiplied", "add": "mask-added", "add_": "mask-added"}
    if first is None or first.op not in ids or not tape.softmaxes:
        return []
    after = first.index > tape.softmaxes[0].index
    return [Finding("mask-after-softmax" if after else ids[first.op], first.span, "trace")]


def _is_right(exam: Examination, trial: Trial, change: Callable[[Tensor, Trial], Tensor]) -> bool:
    assert exam.base is not None
    assert trial.mask is not None
    assert trial.expected is not None
    mask = change(trial.mask, trial)
    if mask.shape == trial.mask.shape and mask.dtype == trial.mask.dtype and torch.equal(mask, trial.mask):
        return False
    return fault_of(exam.call(exam.base, trial.inputs, mask), trial.expected, tolerance=exam.tolerance) is None


def _written_out(mask: Tensor, trial: Trial) -> Tensor:
    sizes = trial.sizes
    Lk = trial.inputs[-1].shape[-2] if len(trial.inputs) > 1 else sizes["L"]
    return mask.expand(sizes["B"], sizes["H"], sizes["L"], Lk).contiguous()


def _without_heads(mask: Tensor, trial: Trial) -> Tensor:
    """(B, Lq, Lk), as masks are that leave the heads to be put in."""
    return _written_out(mask, trial)[:, 0].contiguous()


def _inverted(mask: Tensor, _: Trial) -> Tensor:
    return (mask == 0).to(mask.dtype)


def _transposed(mask: Tensor, trial: Trial) -> Tensor:
    full = _written_out(mask, trial)
    return full.transpose(-2, -1).contiguous() if full.shape[-1] == full.shape[-2] else mask


def _bool(mask: Tensor, _: Trial) -> Tensor:
    return mask.bool()


_CHANGES: tuple[tuple[str, Callable[[Tensor, Trial], Tensor]], ...] = (
    ("mask-fill-not-bool", _bool),
    ("mask-inverted", _inverted),
    ("mask-wrong-broadcast", _written_out),
    ("mask-transposed", _transposed),
)
