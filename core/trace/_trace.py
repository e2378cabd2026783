"""The trace of one run, and its steps."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import CodeType
from typing import Any, overload

import torch

from core.errors import Explained
from core.trace._axes import Axis
from core.trace._costs import bytes_moved, flops
from core.trace._explain import explain
from core.trace._infer import Inference, Ref
from core.trace._meaning import Meaning
from core.trace._ops import Kind, kind_of, shown_args
from core.trace._read import Origin, axes_of, coordinates, origin
from core.trace._record import Op
from core.trace._spans import Source, Sources
from core.trace._states import NO_STORAGE, Raw, TensorState

Labels = Mapping[int, list[tuple[str, tuple[int, ...]]]]


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor operation of a run.

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
    args: str
    kind: Kind
    source: Source
    names: tuple[str | None, ...]
    inputs: tuple[TensorState, ...]
    outputs: tuple[TensorState, ...]
    bytes_moved: int
    flops: int
    live_bytes: int
    error: Exception | None
    callers: tuple[Source, ...] = ()
    explanation: Explained | None = None

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


class Trace:
    """What `record` found: steps in order, and how the run ended.

    `result` is what the callable returned (None if it raised), `error` the exception that ended it (None if
    none did) and `error_source` where it was raised. `inputs` are the tensors of the arguments by name.
    `steps` are built when they are first asked for.
    """

    def __init__(
        self,
        ops: list[Op],
        *,
        inputs: Mapping[str, tuple[Raw, torch.Tensor | None]],
        parameters: Callable[[], Labels],
        storage_bytes: list[int],
        sources: Sources,
        result: Any,
        error: Exception | None,
        error_at: tuple[tuple[CodeType, int], ...],
        axes: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> None:
        self.result = result
        self.error = error
        self._ops = ops
        self._raw_inputs = inputs
        self._storage_bytes = storage_bytes
        self._sources = sources
        self._error_at = error_at
        raw = {name: raw for name, (raw, _) in inputs.items()}
        self._meanings = Meanings(ops, raw, parameters, axes, sizes)
        self._values: dict[tuple, torch.Tensor] = {}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        for raw, value in self._raw_inputs.values():
            self._remember(raw, value)
        steps: list[Step] = []
        for i, (op, ins, outs) in enumerate(_grouped(self._ops)):
            step = self._step(i, op, ins, outs)
            if op.error is not None:
                step = replace(step, explanation=explain(op, step, steps))
            steps.append(step)
        return tuple(steps)

    @cached_property
    def inputs(self) -> dict[str, TensorState]:
        """The tensors of the arguments, by name."""
        return {
            name: self._state(raw, value, Meant(self._meanings, (-1, name, 0)), name)
            for name, (raw, value) in self._raw_inputs.items()
        }

    @property
    def error_source(self) -> Source | None:
        return self._sources.source(*self._error_at[0]) if self._error_at else None

    @property
    def explanation(self) -> Explained | None:
        """Why the run ended as it did: that of the last step, if the last step raised."""
        return self.steps[-1].explanation if self.error is not None and self.steps else None

    @property
    def peak_bytes(self) -> int:
        """The most bytes that storages made by the run filled at once, seen after each step.

        Inputs and parameters are not counted, nor what a single operation needs inside itself.
        """
        return max((op.live_bytes for op in self._ops), default=0)

    @property
    def flops(self) -> int:
        return sum(step.flops for step in self.steps)

    @property
    def bytes_moved(self) -> int:
        return sum(step.bytes_moved for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        return self.steps[index]

    def _step(self, index: int, op: Op, ins: list[Ref], outs: list[Ref]) -> Step:
        inputs = tuple(
            self._state(raw, self._values.get(raw.place), Meant(self._meanings, ref))
            for raw, ref in zip(op.inputs, ins, strict=True)
        )
        for raw, value in zip(op.outputs, op.values, strict=False):
            self._remember(raw, value)
        outputs = tuple(
            self._state(raw, self._values.get(raw.place), Meant(self._meanings, ref))
            for raw, ref in zip(op.outputs, outs, strict=True)
        )
        read = {raw.storage for raw in op.inputs}
        kind = kind_of(op.op, read, [raw.storage for raw in op.outputs])
        places = [self._sources.source(code, lasti) for code, lasti in op.stack]
        return Step(
            index=index,
            op=op.op,
            args=shown_args(op.op, op.args, op.kwargs),
            kind=kind,
            source=places[0] if places else _NOWHERE,
            names=self._sources.names(op.stack),
            inputs=inputs,
            outputs=outputs,
            bytes_moved=bytes_moved(kind, op.inputs, op.outputs),
            flops=flops(op.op, op.args, op.kwargs, op.inputs, op.outputs),
            live_bytes=op.live_bytes,
            error=op.error,
            callers=tuple(places[1:]),
        )

    def _remember(self, raw: Raw, value: torch.Tensor | None) -> None:
        if value is not None and raw.storage != NO_STORAGE:
            self._values[raw.place] = value

    def _state(self, raw: Raw, value: torch.Tensor | None, meant: "Meant", name: str | None = None) -> TensorState:
        parameter = next((n for n, shape in self._meanings.labels.get(raw.storage, ()) if shape == raw.shape), None)
        return TensorState(
            shape=tuple(raw.shape),
            stride=raw.stride,
            offset=raw.offset,
            dtype=raw.dtype,
            storage=raw.storage,
            storage_size=self._storage_bytes[raw.storage] // raw.dtype.itemsize if raw.storage >= 0 else 0,
            requires_grad=raw.requires_grad,
            is_parameter=parameter is not None,
            name=parameter or name or self._input_name(raw),
            value=value,
            _meant=meant,
        )

    def _input_name(self, raw: Raw) -> str | None:
        return next((n for n, (given, _) in self._raw_inputs.items() if given.place == raw.place), None)


_NOWHERE = Source("", "", 0, 0, 0, 0, 0, "")


class Meanings:
    """The meanings of all tensors of a trace, worked out when the first is asked for."""

    def __init__(
        self, ops: list[Op], inputs: Mapping[str, Raw], labels: Callable[[], Labels], axes: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> None:  # fmt: skip
        self._ops, self._inputs, self._find, self._axes, self._sizes = ops, inputs, labels, axes, sizes

    @cached_property
    def labels(self) -> Labels:
        """Names and shapes of the parameters met, by storage."""
        return self._find()

    @cached_property
    def inference(self) -> Inference:
        return Inference(self._ops, self._inputs, self.labels, self._axes, self._sizes)


class Meant:
    """The meaning of one tensor of a trace."""

    __slots__ = ("_meanings", "_ref")

    def __init__(self, meanings: Meanings, ref: Ref) -> None:
        self._meanings, self._ref = meanings, ref

    @property
    def meaning(self) -> Meaning:
        return self._meanings.inference.at(self._ref)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return axes_of(self.meaning)

    def coordinates(self, name: str) -> torch.Tensor:
        return torch.tensor(coordinates(self.meaning, name))

    def origin(self, index: tuple[int, ...]) -> Origin:
        return origin(self.meaning, index)


Grouped = tuple[Op, list[Ref], list[Ref]]


def _grouped(ops: list[Op]) -> Iterator[Grouped]:
    """The operations with each call of nn.MultiheadAttention made one: its own transposes belong to it."""
    group: list[tuple[int, Op]] = []
    at = (0, 0)
    for i, op in enumerate(ops):
        if group and (op.group is None or op.group[0] != at[0] or op.group[1] < at[1]):
            yield _merged(group)
            group = []
        if op.group is None:
            yield op, _refs(i, "in", op.inputs), _refs(i, "out", op.outputs)
        else:
            group.append((i, op))
            at = op.group
    if group:
        yield _merged(group)


def _refs(index: int, side: str, raws: tuple[Raw, ...]) -> list[Ref]:
    return [(index, side, k) for k in range(len(raws))]


def _merged(group: list[tuple[int, Op]]) -> Grouped:
    at = next((k for k, (_, op) in enumerate(group) if op.op == "MultiheadAttention"), len(group) - 1)
    index, core = group[at]
    ins, outs = _refs(index, "in", core.inputs), _refs(index, "out", core.outputs)
    # Operands as they were handed to the module, before its own transposes.
    handed: dict[tuple, tuple[Raw, Ref]] = {}
    for i, op in group[:at]:
        if len(op.inputs) == 1 and len(op.outputs) == 1:
            handed[op.outputs[0].place] = handed.get(op.inputs[0].place, (op.inputs[0], (i, "in", 0)))
    given = [handed.get(raw.place, (raw, ref)) for raw, ref in zip(core.inputs, ins, strict=True)]
    last_index, last = group[-1]
    outputs, values = core.outputs, core.values
    if last is not core and last.outputs:
        outputs, values = (*last.outputs, *core.outputs[1:]), (*last.values, *core.values[1:])
        outs = [*_refs(last_index, "out", last.outputs), *outs[1:]]
    merged = core._replace(
        kwargs={**core.kwargs, "batch_first": any(op.op == "transpose" for _, op in group)},
        inputs=tuple(raw for raw, _ in given),
        outputs=outputs,
        values=values,
        live_bytes=max(op.live_bytes for _, op in group),
        error=last.error,
    )
    return merged, [ref for _, ref in given], outs
