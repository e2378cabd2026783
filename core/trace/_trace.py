"""The trace of one run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, overload

import torch

from core.errors import Explained
from core.trace._explain import explain
from core.trace._infer import Ref
from core.trace._record import Op
from core.trace._spans import Source, Sources
from core.trace._states import Raw, TensorState
from core.trace._step import Labels, Shared, Step


class Trace:
    """What `record` found: steps in order, and how the run ended.

    `result` is what the callable returned (None if it raised), `error` the exception that ended it (None if
    none did) and `error_source` where it was raised. `inputs` are the tensors of the arguments by name.
    `steps` are built when they are first asked for, and what they say when it is asked for.
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
        self._error_at = error_at
        raw = {name: raw for name, (raw, _) in inputs.items()}
        self._shared = Shared(ops, raw, parameters, storage_bytes, sources, axes, sizes)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        values = {raw.place: value for raw, value in self._raw_inputs.values() if value is not None and raw.has_storage}
        keeps_values = bool(values) or any(op.values for op in self._ops)
        steps: list[Step] = []
        for i, (op, ins, outs) in enumerate(_grouped(self._ops)):
            step = Step(i, op, ins, outs, self._shared)
            if keeps_values:
                step.with_values(values)
            if op.error is not None:
                step.explanation = explain(op, step, steps)
            steps.append(step)
        return tuple(steps)

    @cached_property
    def inputs(self) -> dict[str, TensorState]:
        """The tensors of the arguments, by name."""
        return {
            name: TensorState(raw, (-1, name, 0), self._shared, value)
            for name, (raw, value) in self._raw_inputs.items()
        }

    @property
    def error_source(self) -> Source | None:
        return self._shared.sources.source(*self._error_at[0]) if self._error_at else None

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


Grouped = tuple[Op, Sequence[Ref], Sequence[Ref]]


def _grouped(ops: list[Op]) -> Iterator[Grouped]:
    """The operations with each call of nn.MultiheadAttention made one: its own transposes belong to it."""
    group: list[tuple[int, Op]] = []
    at = (0, 0)
    for i, op in enumerate(ops):
        if group and (op.group is None or op.group[0] != at[0] or op.group[1] < at[1]):
            yield _merged(group)
            group = []
        if op.group is None:
            yield op, _refs(i, "in", len(op.inputs)), _refs(i, "out", len(op.outputs))
        else:
            group.append((i, op))
            at = op.group
    if group:
        yield _merged(group)


@lru_cache(maxsize=4096)  # those of one trace are those of the next
def _refs(index: int, side: str, count: int) -> tuple[Ref, ...]:
    return tuple((index, side, k) for k in range(count))


def _merged(group: list[tuple[int, Op]]) -> Grouped:
    at = next((k for k, (_, op) in enumerate(group) if op.op == "MultiheadAttention"), len(group) - 1)
    index, core = group[at]
    ins, outs = _refs(index, "in", len(core.inputs)), _refs(index, "out", len(core.outputs))
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
        outs = (*_refs(last_index, "out", len(last.outputs)), *outs[1:])
    merged = core._replace(
        kwargs={**core.kwargs, "batch_first": any(op.op == "transpose" for _, op in group)},
        inputs=tuple(raw for raw, _ in given),
        outputs=outputs,
        values=values,
        live_bytes=max(op.live_bytes for _, op in group),
        error=last.error,
    )
    return merged, [ref for _, ref in given], outs
