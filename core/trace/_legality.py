"""Whether `view` can give a tensor a new shape without copying, and if not, which two axes are in the way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Legality:
    """The answer of `view_legality`.

    `reason` says why not: "size" (another number of elements), "infer" (no or no single size fits the -1),
    "strides". For "strides", the axis `target_axis` of the new shape would have to join the neighbouring `axes`
    (left, right) of the old one, which needs the left to step by `needed` elements; it steps by `strides[0]`.
    `shape` is the target with the -1 filled in and `stride` the strides that the view has, where it is legal.
    """

    legal: bool
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    reason: Literal["size", "infer", "strides"] | None = None
    axes: tuple[int, int] | None = None
    strides: tuple[int, int] | None = None
    needed: int | None = None
    target_axis: int | None = None

    def __bool__(self) -> bool:
        return self.legal


def view_legality(shape: Ints, stride: Ints, target: Ints) -> Legality:
    """Whether a tensor of `shape` and `stride` (in elements) has a view of shape `target` (one -1 allowed).

    The rule is torch's own: neighbouring axes can only be joined or cut anew where the left one steps over
    exactly what the right ones fill. Axes of size 1 are in nobody's way.
    """
    if len(shape) != len(stride) or any(n < 0 for n in shape) or any(n < -1 for n in target):
        raise ValueError(
            f"shape {tuple(shape)}, stride {tuple(stride)} and target {tuple(target)} do not describe a view"
        )
    filled = _filled(math.prod(shape), tuple(target))
    if filled is None:
        return Legality(False, reason="infer")
    if math.prod(filled) != math.prod(shape):
        return Legality(False, filled, reason="size")
    if 0 in shape:
        return Legality(True, filled, tuple(stride) if filled == tuple(shape) else _row_major(filled))
    if not shape:
        return Legality(True, filled, (1,) * len(filled))
    strides = [0] * len(filled)
    at = len(filled) - 1
    base, old, new = stride[-1], 1, 1  # of the run of axes that lie as one: innermost stride, elements before and after
    for dim in reversed(range(len(shape))):
        old *= shape[dim]
        joins = dim > 0 and (shape[dim - 1] == 1 or stride[dim - 1] == old * base)
        if joins:
            continue
        while at >= 0 and (new < old or filled[at] == 1):
            strides[at] = new * base
            new *= filled[at]
            at -= 1
        if new != old:
            right = next(d for d in range(dim, len(shape)) if shape[d] != 1 or d == len(shape) - 1)
            return Legality(
                False, filled, reason="strides", axes=(dim - 1, right), strides=(stride[dim - 1], stride[right]),
                needed=old * base, target_axis=at + 1,
            )  # fmt: skip
        if dim > 0:
            base, old, new = stride[dim - 1], 1, 1
    return Legality(True, filled, tuple(strides))


def _filled(numel: int, target: tuple[int, ...]) -> tuple[int, ...] | None:
    """The target with its -1 worked out; None where that is not possible."""
    if -1 not in target:
        return target
    rest = math.prod(n for n in target if n != -1)
    if target.count(-1) > 1 or rest == 0 or numel % rest:
        return None
    return tuple(numel // rest if n == -1 else n for n in target)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(max(n, 1) for n in shape[d + 1 :]) for d in range(len(shape)))
