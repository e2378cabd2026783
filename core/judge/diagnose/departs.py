"""Where a run departs from the reference: the last of its steps whose numbers the reference makes too."""

import torch
from torch import Tensor

from core.judge._examine import Examination
from core.judge._expect import with_roles
from core.judge._oracle import right, slots_of
from core.judge.diagnose.tape import Step, Tape
from core.trace import record


def last_alike(exam: Examination) -> Step | None:
    """The last step of the first call that made numbers which the reference, with the likeliest roles, makes as well.

    Numbers are compared as sorted lists, so that another layout or order does not matter; layout steps are left out.
    """
    base, first = exam.base, exam.first
    assert base is not None
    assert first is not None
    oracle = right(exam.problem, base.sizes)
    for _, roles in with_roles(base.tensors, slots_of(exam.problem, base.sizes)):
        if oracle.load(roles):
            break
    else:
        return None
    with torch.no_grad():
        trace = record(oracle, *first.inputs, keep_values=True)
    known = [_sorted(state.value) for step in trace for state in step.outputs if state.value is not None]
    last = None
    for step in Tape(first.call.raw.get("trace", [])).steps:
        if step.is_layout or step.value is None or step.line <= 0 or not step.value.is_floating_point():
            continue
        numbers = _sorted(step.value)
        if any(numbers.shape == other.shape and torch.allclose(numbers, other, atol=1e-9) for other in known):
            last = step
    return last


def _sorted(value: Tensor) -> Tensor:
    return value.detach().double().flatten().sort().values
