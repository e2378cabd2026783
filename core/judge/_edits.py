"""Runs a submission once more with one of its operations changed, to see whether that is the cause; and notes where its
weights are made."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from core.trace import op_name

FILENAME = "<submission>"
_SDPA = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
Call = tuple[Callable[..., Any], list[Any], dict[str, Any]]


class Edited(TorchFunctionMode):
    """While it is on, operations called `op` on line `line` (any line where it is None) do what `edits` say.

    Every edit is ``{op, line, do, value}``; what "do" may be is in `_BEFORE` and `_AFTER`. All calls that fit are
    changed, since a loop over heads makes one mistake many times.
    """

    def __init__(self, edits: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.edits = edits

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        op = op_name(func)
        fits = [edit for edit in self.edits if edit["op"] == op and edit["line"] in (None, _line())]
        if not fits:
            return func(*args, **kwargs)
        call: Call = (func, list(args), dict(kwargs))
        for edit in fits:
            if edit["do"] in _BEFORE:
                call = _BEFORE[edit["do"]](call, edit.get("value"))
        result = call[0](*call[1], **call[2])
        for edit in fits:
            if edit["do"] in _AFTER:
                result = _AFTER[edit["do"]](result, edit.get("value"))
        return result


class Births(TorchFunctionMode):
    """While it is on, notes on which lines of the submission every new storage was made, innermost first."""

    def __init__(self) -> None:
        super().__init__()
        self._born: dict[int, tuple[list[int], Any]] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            storage = result.untyped_storage()
            self._born.setdefault(storage._cdata, (_lines(), storage))  # kept, so that no other takes its address
        return result

    def lines(self, tensors: Mapping[str, Tensor]) -> dict[str, list[int]]:
        """For each tensor the lines on which it was made."""
        return {name: self._born.get(t.untyped_storage()._cdata, ([], None))[0] for name, t in tensors.items()}


def _line() -> int | None:
    return next(iter(_lines(3)), None)


def _lines(up: int = 2) -> list[int]:
    frame, found = sys._getframe(up), []
    while frame is not None:
        if frame.f_code.co_filename == FILENAME:
            found.append(frame.f_lineno)
        frame = frame.f_back
    return found


def _identity(call: Call, _: Any) -> Call:
    return (lambda tensor, *_, **__: tensor), call[1], {}


def _dim(call: Call, value: int) -> Call:
    func, args, kwargs = call
    kwargs = {name: v for name, v in kwargs.items() if name not in ("dim", "_stacklevel")}
    return torch.softmax if func is torch.nn.functional.softmax else func, args[:1], kwargs | {"dim": value}


def _argument(call: Call, value: Mapping[str, Any]) -> Call:
    """Another value for an argument of F.scaled_dot_product_attention, however it is given."""
    func, args, kwargs = call
    for name, new in value.items():
        place = _SDPA.index(name)
        if place < len(args):
            args[place] = new
        else:
            kwargs[name] = new
    return func, args, kwargs


def _input_times(call: Call, value: float) -> Call:
    func, args, kwargs = call
    return func, [args[0] * value, *args[1:]], kwargs


def _times(result: Any, value: float) -> Any:
    return result * value if isinstance(result, Tensor) else result


def _transpose(result: Any, value: Sequence[int]) -> Any:
    return result.transpose(*value) if isinstance(result, Tensor) else result


def _fill(call: Call, value: float) -> Call:
    """Another number for masked_fill to write."""
    func, args, kwargs = call
    if "value" in kwargs:
        return func, args, {**kwargs, "value": value}
    return func, [*args[:2], value], kwargs


_BEFORE: dict[str, Callable[[Call, Any], Call]] = {
    "identity": _identity,
    "dim": _dim,
    "fill": _fill,
    "argument": _argument,
    "input times": _input_times,
}
_AFTER: dict[str, Callable[[Any, Any], Any]] = {"times": _times, "transpose": _transpose}
