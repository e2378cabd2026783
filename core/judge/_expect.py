"""What a submission should give: the reference with its weights, in the roles that they play."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from core.judge import _cases
from core.judge._compare import TOLERANCE, difference
from core.judge._oracle import Roles, right, slots_of
from core.judge._roles import Assignment, Tensors, assignments, take
from core.judge._subject import Made


def output(oracle: Callable[..., Any], inputs: list[Any], mask: Tensor | None = None) -> Tensor | None:
    """The reference's output without a cache; None where it raises."""
    try:
        with torch.no_grad():
            result = oracle(*inputs) if mask is None else oracle(*inputs, mask=mask)
    except Exception:  # noqa: BLE001  wrong variants raise what they like
        return None
    result = result[0] if isinstance(result, tuple) else result
    return result if isinstance(result, Tensor) else None


def find_roles(
    problem: str, tensors: Tensors, sizes: _cases.Sizes, inputs: list[Any], found: Tensor,
    tolerance: float = TOLERANCE, **options: Any,
) -> Assignment | None:  # fmt: skip
    """The roles with which the reference gives what was found; `options` are those of `assignments`."""
    slots, oracle = slots_of(problem, sizes), right(problem, sizes)
    for assignment, roles in with_roles(tensors, slots, **options):
        if oracle.load(roles):
            expected = output(oracle, inputs)
            if (
                expected is not None
                and expected.shape == found.shape
                and difference(found, expected, tolerance) is None
            ):
                return assignment
    return None


def with_roles(tensors: Tensors, slots: Any, **options: Any) -> Iterator[tuple[Assignment, Roles]]:
    for assignment in assignments(tensors, slots, **options):
        roles = take(assignment, tensors, slots)
        if roles is not None:
            yield assignment, roles


def likeliest(problem: str, made: Made, inputs: list[Any]) -> Tensor | None:
    """What the reference gives with the weights in the roles that their names and order speak for."""
    slots, oracle = slots_of(problem, made.sizes), right(problem, made.sizes)
    for _, roles in with_roles(made.tensors, slots):
        if oracle.load(roles):
            return output(oracle, inputs)
    return None
