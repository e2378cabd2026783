"""Calls a submission with its mask turned, transposed, written out: what makes it right is what was wrong."""

from collections.abc import Callable

import torch
from torch import Tensor

from core.judge._compare import fault_of
from core.judge._examine import Examination, Trial
from core.judge.diagnose.findings import Finding
from core.judge.diagnose.locate import Places


def of_masks(exam: Examination, places: Places) -> list[Finding]:
    """The finding whose change of the mask makes every wrong trial right; none where no change does."""
    wrong = [t for t in exam.masked if t.fault is not None and t.expected is not None]
    if not wrong or exam.base is None:
        return []
    for id, change in _CHANGES.items():
        if all(_is_right(exam, trial, change) for trial in wrong):
            return [Finding(id, places.of(id), "edit")]
    same = [t for t in exam.masked if t.case == "causal"]  # one mask for all samples and heads
    if same and all(t.fault is None for t in same):
        return [Finding("mask-wrong-broadcast", places.of("mask-wrong-broadcast"), "check")]
    return []


def _is_right(exam: Examination, trial: Trial, change: Callable[[Tensor, Trial], Tensor]) -> bool:
    assert exam.base is not None and trial.mask is not None and trial.expected is not None
    mask = change(trial.mask, trial)
    if mask.shape == trial.mask.shape and mask.dtype == trial.mask.dtype and torch.equal(mask, trial.mask):
        return False
    return fault_of(exam.call(exam.base, trial.inputs, mask), trial.expected, tolerance=exam.tolerance) is None


def _written_out(mask: Tensor, trial: Trial) -> Tensor:
    sizes = trial.sizes
    Lk = trial.inputs[-1].shape[-2] if len(trial.inputs) > 1 else sizes["L"]
    return mask.expand(sizes["B"], sizes["H"], sizes["L"], Lk).contiguous()


def _inverted(mask: Tensor, _: Trial) -> Tensor:
    return (mask == 0).to(mask.dtype)


def _transposed(mask: Tensor, trial: Trial) -> Tensor:
    full = _written_out(mask, trial)
    return full.transpose(-2, -1).contiguous() if full.shape[-1] == full.shape[-2] else mask


def _bool(mask: Tensor, _: Trial) -> Tensor:
    return mask.bool()


_CHANGES: dict[str, Callable[[Tensor, Trial], Tensor]] = {
    "mask-fill-not-bool": _bool,
    "mask-inverted": _inverted,
    "mask-wrong-broadcast": _written_out,
    "mask-transposed": _transposed,
}
