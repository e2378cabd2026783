"""Recording: a per-thread mode that notes every torch operation, and nothing else, while a callable runs."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from core.trace._ops import Tensor, op_name, words
from core.trace._states import NO_STORAGE, Raw, Storages

_INSIDE = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_outside: dict[str, bool] = {}  # file name -> whether its frames are the user's, not torch's or the tracer's
_STACK_DEPTH = 8
_PLACEHOLDERS = tuple(map(Tensor, range(16)))
_NO_KWARGS: dict[str, Any] = {}
_NO_INDICES: dict[int, torch.Tensor] = {}
_PLAIN = frozenset((int, float, bool, str, type(None), slice, torch.dtype))  # arguments that are no tensors
_TENSORS = frozenset((torch.Tensor, nn.Parameter))  # and those that are; isinstance is slower for parameters
_new = tuple.__new__  # of a named tuple, in half the time
_MHA_FORWARD = nn.MultiheadAttention.forward.__code__

# Operations whose meaning needs the numbers of an index tensor, which are kept (a clone, they are small).
_INDEXED = words(
    "getitem setitem index_select gather take_along_dim take index scatter scatter_ index_copy index_copy_ "
    "masked_select repeat_interleave index_add index_add_ index_put_"
)


def is_outside(filename: str) -> bool:
    """Whether code of this file is the user's: neither torch's nor the tracer's."""
    if len(_outside) > 4096:
        _outside.clear()
    return _outside.setdefault(filename, not filename.startswith(_INSIDE))


class Op(NamedTuple):
    """One operation as it was seen. `args` and `kwargs` have `Tensor` placeholders into `inputs`."""

    op: str
    func: Callable[..., Any]
    args: tuple
    kwargs: dict
    inputs: tuple[Raw, ...]
    outputs: tuple[Raw, ...]
    stack: tuple[tuple[CodeType, int], ...]  # user frames, innermost first
    group: tuple[int, int] | None  # frame and position inside nn.MultiheadAttention.forward
    indices: dict[int, torch.Tensor]  # the values of index tensors, by input
    values: tuple[torch.Tensor, ...]
    live_bytes: int
    error: Exception | None


class Recorder:
    """Notes operations; the two modes below are recorders."""

    groups: bool  # whether nn.MultiheadAttention is one step

    def __init__(self, *, keep_values: bool) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.storages = Storages()
        self._numbers = self.storages.numbers
        self.keep_values = keep_values
        self.entry: FrameType | None = None
        self._names: dict[object, str | None] = {}

    def call(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run one torch function and note it: what __torch_function__ and __torch_dispatch__ have to do."""
        try:
            op = self._names[func]
        except KeyError:
            op = self._names[func] = op_name(func)
        if op is None:
            return func(*args, **kwargs) if kwargs else func(*args)
        inputs: list[Raw] = []
        packed, packed_kwargs = self._taken(args, inputs), _NO_KWARGS
        if kwargs:
            packed_kwargs = dict(zip(kwargs, self._taken(kwargs.values(), inputs), strict=True))
        indices = _NO_INDICES
        if op in _INDEXED and len(inputs) > 1:
            tensors = _tensors((*args, *(kwargs or _NO_KWARGS).values()))
            with torch._C.DisableTorchFunction():
                indices = {i: _kept(t) for i, t in enumerate(tensors) if i and not t.is_floating_point()}
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        except Exception as error:
            self._note(op, func, packed, packed_kwargs, inputs, indices, None, error)
            raise
        self._note(op, func, packed, packed_kwargs, inputs, indices, result, None)
        return result

    def _note(
        self, op: str, func: Callable[..., Any], args: tuple, kwargs: dict,
        inputs: list[Raw], indices: dict, result: Any, error: Exception | None,
    ) -> None:  # fmt: skip
        outputs: list[Raw] = []
        self._taken((result,), outputs, True)
        if not outputs and error is None:
            if op != "setitem":
                return
            outputs = inputs[:1]
        values: tuple[torch.Tensor, ...] = ()
        if self.keep_values:
            with torch._C.DisableTorchFunction():
                values = tuple([_kept(t) for t in _tensors((result,))])
        stack, group = self._where()
        live = self.storages.live_bytes()
        self.ops.append(
            _new(
                Op,
                (op, func, args, kwargs, tuple(inputs), tuple(outputs), stack, group, indices, values, live, error),
            )
        )

    def _taken(self, values: Iterable[Any], raws: list[Raw], made: bool = False) -> tuple:
        """`values` with each tensor noted in `raws` and replaced by its placeholder; `made` as for `raw`.

        One loop for both: a list of tensors in between costs more than what it is there for.
        """
        packed = []
        for value in values:
            kind = type(value)
            if kind in _PLAIN:
                pass
            elif kind in _TENSORS or isinstance(value, torch.Tensor):
                n = len(raws)
                raws.append(self.raw(value, made))
                value = _PLACEHOLDERS[n] if n < len(_PLACEHOLDERS) else Tensor(n)
            elif isinstance(value, (tuple, list)):
                value = self._taken(value, raws, made)
            packed.append(value)
        return tuple(packed)

    def raw(self, tensor: torch.Tensor, made: bool = False) -> Raw:
        """What a tensor looks like now; `made` says that the run has just allocated its storage, if it is new."""
        try:
            storage = tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):  # vmap's and others that have none
            return Raw(tuple(tensor.shape), (0,) * tensor.dim(), 0, tensor.dtype, NO_STORAGE, tensor.requires_grad)
        address = storage._cdata
        number = self._numbers.get(address)
        if number is None:
            number = self.storages.add(address, storage, made)
        return _new(
            Raw,
            (tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype, number, tensor.requires_grad,
             id(tensor)),
        )  # fmt: skip

    def _where(self) -> tuple[tuple[tuple[CodeType, int], ...], tuple[int, int] | None]:
        """The user's frames, innermost first, and the place inside nn.MultiheadAttention if we are in one."""
        stack: list[tuple[CodeType, int]] = []
        group = None
        entry = self.entry
        frame: FrameType | None = sys._getframe(3)  # past _note and call
        while frame is not None and frame is not entry:
            code = frame.f_code
            outside = _outside.get(code.co_filename)
            if outside is None:
                outside = is_outside(code.co_filename)
            if outside:
                stack.append((code, frame.f_lasti))
                if len(stack) == _STACK_DEPTH:
                    break
            elif code is _MHA_FORWARD and not stack and self.groups:
                group = (id(frame), frame.f_lasti)
            frame = frame.f_back
        return tuple(stack), group


class FunctionLevel(Recorder, TorchFunctionMode):
    """What the learner wrote: one note for each torch function called."""

    groups = True
    __torch_function__ = Recorder.call


class DispatchLevel(Recorder, TorchDispatchMode):
    """Under the hood: one note for each operator that the dispatcher runs, hidden copies included."""

    groups = False
    __torch_dispatch__ = Recorder.call


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among the values, in the order in which they are noted."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _kept(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()
