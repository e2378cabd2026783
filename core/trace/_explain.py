"""Why a step raised, in words that name the axes: what was given, what was expected, what to do.

Only what is known for certain is explained; any other error gets torch's own sentence and the operands.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from core.errors import Explained
from core.trace._compute import POINTWISE
from core.trace._contract import einsum_labels
from core.trace._layout import argument, numbers
from core.trace._legality import view_legality
from core.trace._ops import plain_name
from core.trace._record import Op
from core.trace._states import TensorState

if TYPE_CHECKING:
    from core.trace._step import Step

_TURNS = frozenset(("transpose", "permute", "mT", "T", "t", "swapaxes", "movedim", "mH", "H", "adjoint"))
_STRETCHES = frozenset(("expand", "expand_as", "broadcast_to"))
_CUTS = frozenset(("getitem", "chunk", "split", "narrow", "select", "slice", "unbind", "diagonal", "split_with_sizes"))


def explain(op: Op, step: "Step", before: Sequence["Step"]) -> Explained:
    """The explanation of a step that raised; `before` are the steps up to it."""
    return (
        _view(op, step, before)
        or _contraction(op, step)
        or _broadcast(op, step)
        or _pieces(op, step)
        or _axis(op, step)
        or Explained("trace.other", op=step.op, message=_message(step), operands=_operands(step))
    )


def _view(op: Op, step: "Step", before: Sequence["Step"]) -> Explained | None:
    if plain_name(op.op) not in ("view", "reshape", "unflatten", "_unsafe_view") or not step.inputs:
        return None
    state = step.inputs[0]
    try:
        target = _target(op, state)
    except (TypeError, IndexError):
        return None
    if not all(isinstance(n, int) and n >= -1 for n in target):
        return None
    found = view_legality(state.shape, state.stride, target)
    common = {"op": step.op, "shape": state.shape, "target": tuple(target), "meaning": _meaning(state)}
    if found.reason in ("size", "infer"):
        given, wanted = state.numel, abs(math.prod(n for n in target if n != -1))
        return Explained(f"trace.view-{found.reason}", **common, numel=given, wanted=wanted)
    if found.reason != "strides" or found.axes is None or found.target_axis is None:
        return None
    left, right = found.axes
    params = {
        **common,
        "stride": state.stride,
        "left": f"{left} ({state.axes[left]})",
        "right": f"{right} ({state.axes[right]})",
        "is": state.stride[left],
        "needed": found.needed,
        "size": found.shape[found.target_axis],
        "axis": found.target_axis,
    }
    cause = _not_copied(step, before)
    if cause is None:
        return Explained("trace.view-strides", **params)
    code = "trace.view-after-turn" if plain_name(cause.op) in _TURNS else "trace.view-after-cut"
    if plain_name(cause.op) in _STRETCHES:
        code = "trace.view-after-expand" if 0 in (found.strides or ()) else "trace.view-strides"
    return Explained(code, **params, cause=cause.op, line=cause.source.line)


def _target(op: Op, state: TensorState) -> list[int]:
    if plain_name(op.op) != "unflatten":
        return numbers(op, 1, "size", "shape")
    dim = argument(op, 1, "dim") % len(state.shape)
    return [*state.shape[:dim], *argument(op, 2, "sizes"), *state.shape[dim + 1 :]]


def _not_copied(step: "Step", before: Sequence["Step"]) -> "Step | None":
    """The last view that changed the order of the elements and was not followed by a copy."""
    state = step.inputs[0]
    for earlier in reversed(before):
        if not any(_same_place(out, state) for out in earlier.outputs):
            continue
        if earlier.kind != "view" or not earlier.inputs:
            return None
        name = plain_name(earlier.op)
        cut = name in _CUTS and state.numel < earlier.inputs[0].numel
        if cut or name in _TURNS | _STRETCHES:
            return earlier
        state = earlier.inputs[0]
    return None


def _same_place(a: TensorState, b: TensorState) -> bool:
    return (a.storage, a.offset, a.shape, a.stride) == (b.storage, b.offset, b.shape, b.stride)


def _contraction(op: Op, step: "Step") -> Explained | None:
    labels = einsum_labels(op)
    if labels is None:
        return None
    operands, out = labels
    sizes: dict[str, tuple[int, int]] = {}
    for k, letters in enumerate(operands[: len(step.inputs)]):
        shape = step.inputs[k].shape
        if len(letters) != len(shape):
            return None
        for d, letter in enumerate(letters):
            n = shape[d]
            first, other = sizes.get(letter, (k, n))
            if n != other and not (letter in out and 1 in (n, other)):
                kind = "batch" if letter in out else "linear" if plain_name(op.op) == "linear" else "inner"
                return Explained(
                    f"trace.matmul-{kind}", op=step.op,
                    first=_described(step.inputs[first]), second=_described(step.inputs[k]), size=other, other=n,
                )  # fmt: skip
            if letter not in sizes or other == 1:
                sizes[letter] = (k, n)
    kinds = {state.dtype for state in step.inputs}
    if len(kinds) > 1:
        return Explained("trace.dtypes-differ", op=step.op, dtypes=_dtypes(step), operands=_operands(step))
    return None


def _broadcast(op: Op, step: "Step") -> Explained | None:
    name = plain_name(op.op)
    if len(step.inputs) < 2 or not {name, name.removesuffix("_")} & POINTWISE:
        return None
    rank = max(len(state.shape) for state in step.inputs)
    for back in range(1, rank + 1):
        sizes = [(k, s.shape[-back]) for k, s in enumerate(step.inputs) if len(s.shape) >= back and s.shape[-back] != 1]
        if len({n for _, n in sizes}) > 1:
            (first, n), (second, other) = sizes[0], next(e for e in sizes if e[1] != sizes[0][1])
            a, b = step.inputs[first], step.inputs[second]
            return Explained(
                "trace.broadcast", op=step.op, first=_described(a), second=_described(b), size=n, other=other
            )  # fmt: skip
    if name.startswith("masked_fill") and step.inputs[1].dtype != torch.bool:
        dtype = str(step.inputs[1].dtype).removeprefix("torch.")
        return Explained("trace.mask-not-bool", op=step.op, dtype=dtype, operands=_operands(step))
    return None


def _pieces(op: Op, step: "Step") -> Explained | None:
    name = plain_name(op.op)
    if name in ("cat", "stack") and step.inputs:
        if len({len(s.shape) for s in step.inputs}) > 1:
            return Explained("trace.cat-ranks", op=step.op, operands=_operands(step))
        dim = argument(op, 1, "dim", "axis", default=0)
        first = step.inputs[0]
        skip = dim % len(first.shape) if name == "cat" and first.shape else None
        for k, state in enumerate(step.inputs[1:], 2):
            for d, (n, other) in enumerate(zip(first.shape, state.shape, strict=True)):
                if d != skip and n != other:
                    return Explained(
                        "trace.cat-sizes", op=step.op, dim=dim, axis=d, number=k, size=n, other=other,
                        operands=_operands(step),
                    )  # fmt: skip
    if name in ("split", "split_with_sizes") and step.inputs:
        sizes = argument(op, 1, "split_size_or_sections", "split_size", "split_sizes")
        dim = argument(op, 2, "dim", default=0)
        if isinstance(sizes, (tuple, list)) and step.inputs[0].shape:
            size = step.inputs[0].shape[dim % len(step.inputs[0].shape)]
            if sum(sizes) != size:
                return Explained(
                    "trace.split-sizes", op=step.op, sizes=tuple(sizes), total=sum(sizes), dim=dim, size=size,
                    meaning=_meaning(step.inputs[0]),
                )  # fmt: skip
    return None


def _axis(op: Op, step: "Step") -> Explained | None:
    if not isinstance(op.error, IndexError) or not step.inputs or "imension out of range" not in str(op.error):
        return None
    state = step.inputs[0]
    rank = len(state.shape)
    return Explained(
        "trace.no-such-axis", op=step.op, args=step.args, rank=rank, low=-rank, high=rank - 1, shape=state.shape,
        meaning=_meaning(state),
    )  # fmt: skip


def _meaning(state: TensorState) -> str:
    return ", ".join(map(str, state.axes))


def _described(state: TensorState) -> str:
    """``(2, 8, 10, 64) [B, H, L, d_h]``."""
    return f"{state.shape} [{_meaning(state)}]"


def _operands(step: "Step") -> str:
    return ", ".join(map(_described, step.inputs))


def _dtypes(step: "Step") -> str:
    return ", ".join(str(state.dtype).removeprefix("torch.") for state in step.inputs)


def _message(step: "Step") -> str:
    return str(step.error).splitlines()[0] if str(step.error) else type(step.error).__name__
