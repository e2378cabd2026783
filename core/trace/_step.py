"""One step of a trace, and what the steps of a trace share."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, overload

import torch

from core.errors import Explained
from core.trace._costs import bytes_moved, flops
from core.trace._infer import Inference, Ref
from core.trace._ops import Kind, kind_of, shown_args
from core.trace._read import Origin
from core.trace._record import Op
from core.trace._spans import Source, Sources
from core.trace._states import Raw, TensorState

Labels = Mapping[int, list[tuple[str, tuple[int, ...]]]]
Values = Mapping[tuple, torch.Tensor]
T = TypeVar("T")

_NOWHERE = Source("", "", 0, 0, 0, 0, 0, "")


class lazy(Generic[T]):  # noqa: N801  used like `property`
    """An attribute worked out when it is first asked for.

    functools.cached_property takes a lock at every first access (until Python 3.12), which costs more than most of
    the attributes themselves.
    """

    def __init__(self, work: Callable[[Any], T]) -> None:
        self.work, self.__doc__ = work, work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.work(instance)
        return value


class Shared:
    """What the steps of a trace and their tensors share. It knows no step, so that a trace is freed at once."""

    def __init__(
        self, ops: list[Op], inputs: Mapping[str, Raw], parameters: Callable[[], Labels], storage_bytes: list[int],
        sources: Sources, axes: Mapping[str, str], sizes: Mapping[str, int],
    ) -> None:  # fmt: skip
        self.storage_bytes, self.sources = storage_bytes, sources
        self._ops, self._inputs, self._find, self._axes, self._sizes = ops, inputs, parameters, axes, sizes

    @cached_property
    def labels(self) -> Labels:
        """Names and shapes of the parameters met, by storage."""
        return self._find()

    @cached_property
    def inference(self) -> Inference:
        """The meanings of all tensors, worked out when the first is asked for."""
        return Inference(self._ops, self._inputs, self.labels, self._axes, self._sizes)

    def parameter(self, raw: Raw) -> str | None:
        return next((name for name, shape in self.labels.get(raw.storage, ()) if shape == raw.shape), None)

    def input_name(self, raw: Raw, ref: Ref) -> str | None:
        if ref[0] < 0:  # one of `Trace.inputs`, two of which may lie in one place
            return ref[1]
        return next((name for name, given in self._inputs.items() if given.place == raw.place), None)

    def states(self, raws: Sequence[Raw], refs: Sequence[Ref], values: Values) -> tuple[TensorState, ...]:
        if not values:
            return tuple([TensorState(raw, ref, self) for raw, ref in zip(raws, refs, strict=True)])
        return tuple([TensorState(raw, ref, self, values.get(raw.place)) for raw, ref in zip(raws, refs, strict=True)])


class Step:
    """One tensor operation of a run. Not to be changed.

    `op` is the name a learner would say (``@`` is matmul, ``/`` is div; at dispatch level ``aten::…``), `args`
    the arguments worth showing, as text. `kind` says what happened to memory: "view" (the result lies in an
    input's storage and nothing was written), "copy" (elements were placed, none computed), "compute".
    `name` is the variable that the result was bound to (`names` has one for each value unpacked), None inside
    a longer expression. `bytes_moved` and `flops` are as in `core.trace._costs`; `live_bytes` are the bytes of
    all storages made by the run and alive once this step was done. `error` is the exception it raised.
    `explanation` says why, in three parts (``explanation.parts("en")``). `callers` are the calls, outwards,
    through which the traced code came to `source`.
    """

    index: int
    op: str
    live_bytes: int
    error: Exception | None
    explanation: Explained | None

    def __init__(self, index: int, op: Op, ins: Sequence[Ref], outs: Sequence[Ref], shared: Shared) -> None:
        self.index, self.op, self.live_bytes, self.error = index, op.op, op.live_bytes, op.error
        self.explanation = None
        self._op, self._ins, self._outs, self._shared = op, ins, outs, shared

    def __repr__(self) -> str:
        return f"<Step {self.index}: {self.op} {self.args}>"

    @lazy
    def args(self) -> str:
        return shown_args(self.op, self._op.args, self._op.kwargs)

    @lazy
    def kind(self) -> Kind:
        op = self._op
        return kind_of(op.op, {raw.storage for raw in op.inputs}, [raw.storage for raw in op.outputs])

    @lazy
    def source(self) -> Source:
        stack = self._op.stack
        return self._shared.sources.source(*stack[0]) if stack else _NOWHERE

    @lazy
    def callers(self) -> tuple[Source, ...]:
        return tuple(self._shared.sources.source(code, lasti) for code, lasti in self._op.stack[1:])

    @lazy
    def names(self) -> tuple[str | None, ...]:
        return self._shared.sources.names(self._op.stack)

    @lazy
    def inputs(self) -> tuple[TensorState, ...]:
        return self._shared.states(self._op.inputs, self._ins, {})

    @lazy
    def outputs(self) -> tuple[TensorState, ...]:
        return self._shared.states(self._op.outputs, self._outs, {})

    @lazy
    def bytes_moved(self) -> int:
        return bytes_moved(self.kind, self._op.inputs, self._op.outputs)

    @lazy
    def flops(self) -> int:
        op = self._op
        return flops(op.op, op.args, op.kwargs, op.inputs, op.outputs)

    def with_values(self, values: dict[tuple, torch.Tensor]) -> None:
        """Take the `values` of the tensors by place, as they are at this step, and put in those that it made."""
        op = self._op
        inputs = self._shared.states(op.inputs, self._ins, values)
        values |= {raw.place: value for raw, value in zip(op.outputs, op.values, strict=False) if raw.has_storage}
        self.__dict__ |= {"inputs": inputs, "outputs": self._shared.states(op.outputs, self._outs, values)}

    @property
    def given(self) -> tuple[Any, ...]:
        """The arguments as they were given; for a tensor something whose `index` is its place in `inputs`.

        Not kept by `core.trace.portable`, nor are the `options`.
        """
        return self._op.args

    @property
    def options(self) -> Mapping[str, Any]:
        """The arguments given by name, as in `given`."""
        return self._op.kwargs

    @property
    def name(self) -> str | None:
        named = [n for n in self.names if n]
        return ", ".join(named) if named else None

    def origin(self, index: Sequence[int], output: int = 0) -> Origin:
        """Where the element at `index` of an output came from: its coordinates and the rows of the named inputs."""
        return self.outputs[output].origin(index)

    @property
    def output(self) -> TensorState | None:
        """The first output; None where the step raised."""
        return self.outputs[0] if self.outputs else None
