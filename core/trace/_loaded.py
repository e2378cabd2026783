"""A trace that is made of data: see `core.trace.portable`."""

import base64
import itertools
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from core.errors import LANGS, Explained
from core.trace import _shapes as wire
from core.trace._axes import Atom
from core.trace._infer import Ref
from core.trace._meaning import Field, Meaning
from core.trace._record import Op
from core.trace._spans import Source, Sources, parsed
from core.trace._states import NO_STORAGE, Raw
from core.trace._step import Step
from core.trace._trace import Trace

_DTYPES = {str(kind).removeprefix("torch."): kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)}
_CODE = compile("", "<loaded>", "exec")  # stands for all code: places are told apart by their number


class _Told:
    """Meanings as they were sent, in the place of an inference."""

    def __init__(self, leaves: Mapping[str, Meaning], sides: Mapping[str, Sequence[Sequence[Meaning]]]) -> None:
        self._leaves, self._sides = leaves, sides

    def at(self, ref: Ref) -> Meaning:
        index, side, place = ref
        return self._leaves[side] if index < 0 else self._sides[side][index][place]


class _Places(Sources):
    """Sources by their number."""

    def __init__(self, places: Sequence[Source]) -> None:
        super().__init__()
        self._places = places

    def source(self, code: object, lasti: int) -> Source:
        return self._places[lasti]


class Reader:
    """Makes the trace of checked data; raises ValueError where its parts do not fit each other."""

    def __init__(self, data: wire.Trace, sources: Mapping[str, str]) -> None:
        self.data = data
        self.tensors = [self._tensor(tensor) for tensor in data.tensors]
        self.atoms = self._atoms()
        self.arrays = list(_arrays(data.arrays))
        self.meanings = [self._meaning(meaning) for meaning in data.meanings]
        self.places = [_source(place, sources) for place in data.places]
        _drawable(self.atoms)

    def trace(self) -> Trace:
        data = self.data
        inputs = {name: self._input(given) for name, given in data.inputs.items()}
        leaves = {name: self._state(given)[1] for name, given in data.inputs.items()}
        labels: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
        for label in data.labels:
            labels.setdefault(label.storage, []).append((label.name, tuple(label.shape)))
        ops = [self._op(step) for step in data.steps]
        trace = Trace(
            ops,
            inputs=inputs,
            parameters=lambda: labels,
            storage_bytes=data.storages,
            sources=_Places(self.places),
            result=None,
            error=_raised(data.error),
            error_at=() if data.error_at is None else ((_CODE, _within(data.error_at, self.places)),),
            axes={},
            sizes={},
        )
        sides = {
            "in": [[self._state(state)[1] for state in step.inputs] for step in data.steps],
            "out": [[self._state(state)[1] for state in step.outputs] for step in data.steps],
        }
        vars(trace._shared)["inference"] = _Told(leaves, sides)
        known = {raw.place: value for raw, value in inputs.values() if value is not None and raw.has_storage}
        keeps_values = bool(known) or any(op.values for op in ops)
        steps = []
        for i, (op, told) in enumerate(zip(ops, data.steps, strict=True)):
            refs = [[(i, side, k) for k in range(len(raws))] for side, raws in (("in", op.inputs), ("out", op.outputs))]
            step = Step(i, op, refs[0], refs[1], trace._shared)
            vars(step).update(
                args=told.args, kind=told.kind, names=tuple(told.names), bytes_moved=told.moved, flops=told.flops
            )
            step.explanation = _explained(told.why)
            if keeps_values:
                step.with_values(known)
            steps.append(step)
        vars(trace)["steps"] = tuple(steps)
        return trace

    def _op(self, step: wire.Step) -> Op:
        inputs, outputs = (tuple(self._state(state)[0] for state in states) for states in (step.inputs, step.outputs))
        if len(step.values) > len(outputs):
            raise ValueError("more values than outputs")
        for value, raw in zip(step.values, outputs, strict=False):
            _fits(value, raw)
        return Op(
            op=step.op,
            func=_never,
            args=(),
            kwargs={},
            inputs=inputs,
            outputs=outputs,
            stack=tuple((_CODE, _within(place, self.places)) for place in step.at),
            group=None,
            indices={},
            values=tuple(step.values),
            live_bytes=step.live,
            error=_raised(step.error),
        )

    def _input(self, given: wire.Input) -> tuple[Raw, torch.Tensor | None]:
        raw, _ = self._state(given)
        if given.value is not None:
            _fits(given.value, raw)
        return raw, given.value

    def _state(self, state: wire.State) -> tuple[Raw, Meaning]:
        raw, meaning = _of(self.tensors, state.tensor), _of(self.meanings, state.meaning)
        if raw.shape != meaning.shape:
            raise ValueError(f"a tensor of shape {raw.shape} with the axes of one of shape {meaning.shape}")
        return raw, meaning

    def _tensor(self, told: wire.Tensor) -> Raw:
        if told.dtype not in _DTYPES or len(told.stride) != len(told.shape):
            raise ValueError(f"no tensor: {told}")
        raw = Raw(
            tuple(told.shape), tuple(told.stride), told.offset, _DTYPES[told.dtype], told.storage, told.grad
        )  # fmt: skip
        numel = math.prod(raw.shape)
        if numel > wire.MOST_ELEMENTS:
            raise ValueError(f"a tensor of {numel} elements")
        if raw.storage != NO_STORAGE and numel:
            last = raw.offset + sum((n - 1) * step for n, step in zip(raw.shape, raw.stride, strict=True))
            if (last + 1) * raw.dtype.itemsize > _of(self.data.storages, raw.storage):
                raise ValueError(f"a tensor that reaches beyond its storage: {told}")
        return raw

    def _atoms(self) -> list[Atom]:
        told = self.data.atoms
        atoms = []
        for one in told:
            atom = Atom(one.name, one.size, parts=tuple(one.parts), mixed=one.mixed, weak=one.weak)
            atom.parts = tuple(one.parts)
            atoms.append(atom)
        for atom, one in zip(atoms, told, strict=True):
            if one.root is not None:
                atom._root = _of(atoms, one.root)
            if one.stands_for is not None:
                if any(_of(told, other).stands_for is not None for other in one.stands_for):
                    raise ValueError("an atom that stands for one that stands for another")
                atom.alias = tuple(_of(atoms, other) for other in one.stands_for)
        return atoms

    def _meaning(self, told: wire.Meaning) -> Meaning:
        shape = tuple(told.shape)
        fields: dict[Atom, Field] = {}
        for one in told.fields:
            dims, values, atom = tuple(one.dims), _of(self.arrays, one.array), _of(self.atoms, one.atom)
            ascending = all(a < b for a, b in itertools.pairwise(dims))
            if not ascending or any(d >= len(shape) for d in dims) or values.shape != tuple(shape[d] for d in dims):
                raise ValueError(f"coordinates of axes {dims} that a tensor of shape {shape} does not have")
            if values.size and not -1 <= values.min() <= values.max() < atom.size:
                raise ValueError("coordinates that lie outside their axis")
            fields[atom] = Field(dims, values)
        if len(told.units) != len(shape):
            raise ValueError("not as many units as axes")
        units = tuple(tuple((_of(self.atoms, unit.atom), unit.stride) for unit in units) for units in told.units)
        paths = frozenset(
            (
                path.name,
                tuple(None if axis is None else tuple(_of(self.atoms, atom) for atom in axis) for axis in path.axes),
            )
            for path in told.paths
        )
        return Meaning(shape, fields, units, paths, told.exact)


def _of(table: Sequence[Any], number: int) -> Any:
    return table[_within(number, table)]


def _within(number: int, table: Sequence[Any]) -> int:
    if not 0 <= number < len(table):
        raise ValueError(f"number {number} of {len(table)}")
    return number


def _never(*_: object, **__: object) -> None:
    raise AssertionError("an operation of a loaded trace is not run again")


def _fits(value: object, raw: Raw) -> None:
    if not isinstance(value, torch.Tensor) or tuple(value.shape) != raw.shape or value.dtype != raw.dtype:
        raise ValueError(f"a value that is not of shape {raw.shape} and {raw.dtype}")


def _arrays(told: Iterable[wire.Array]) -> Iterable[np.ndarray]:
    left = wire.MOST_COORDINATES
    for one in told:
        size = math.prod(one.shape)
        left -= size
        if left < 0:
            raise ValueError("more coordinates than can be drawn")
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(base64.b64decode(one.data, validate=True), 4 * size + 1)
        except (zlib.error, ValueError) as error:
            raise ValueError(f"no array: {error}") from None
        if len(data) != 4 * size:
            raise ValueError(f"an array of {len(data)} bytes for the shape {one.shape}")
        yield np.frombuffer(data, "<i4").reshape(one.shape).astype(np.int64)


def _drawable(atoms: Iterable[Atom]) -> None:
    """Raises where coordinates with names have more values than there are colours for."""
    largest: dict[str, int] = {}
    for atom in atoms:
        for name in {atom.name, *atom.parts} if atom.name else ():
            largest[name or ""] = max(atom.size, largest.get(name or "", 1))
    if max(largest.values(), default=0) > wire.MOST_ALONG_AN_AXIS:
        raise ValueError(f"axes of {largest}")
    if largest.get("H_kv", 1) * largest.get("G", 1) > wire.MOST_ALONG_AN_AXIS:
        raise ValueError(f"heads in groups of {largest}")


def _source(told: wire.Place, sources: Mapping[str, str]) -> Source:
    """The place, with the text that the reader has of its file."""
    place = (told.filename, told.function, told.first_line, told.line, told.col, told.end_line, told.end_col)
    text = sources.get(told.filename)
    if text is None:
        return Source(*place, "")
    lines = text.splitlines()
    if not told.first_line <= told.line <= told.end_line <= len(lines):
        raise ValueError(f"lines {told.line} to {told.end_line} of {len(lines)}")
    span = lines[told.line - 1 : told.end_line]
    if told.col > len(span[0]) or told.end_col > len(span[-1]) or (len(span) == 1 and told.end_col < told.col):
        raise ValueError(f"columns {told.col} to {told.end_col}")
    span[-1] = span[-1][: told.end_col]
    span[0] = span[0][told.col :]
    last = parsed(told.filename, text).function_end(told.first_line, told.end_line)
    return Source(*place, "\n".join(span), "\n".join(lines[told.first_line - 1 : last]))


def _raised(told: wire.Error | None) -> Exception | None:
    """An exception of that name and text, and of no kind that anything else raises."""
    return None if told is None else type(told.type, (Exception,), {"__module__": "loaded"})(told.text)


def _explained(told: wire.Why | None) -> Explained | None:
    if told is None:
        return None
    found = Explained(told.code, **{name: _tuples(value) for name, value in told.params.items()})
    try:
        for lang in LANGS:
            found.parts(lang)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"an explanation that cannot be worded: {error!r}") from None
    return found


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
