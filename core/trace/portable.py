"""A trace as plain data, and back: recorded in one process, looked at in another that trusts nothing of it.

    data = dump(trace)                             # dicts, lists, strings, numbers, and the tensors of kept values
    trace = load(data, sources={"<answer>": text})

`load` runs nothing: no operation is done again, no code is looked up by name, no file is read. What each axis means was
worked out where the trace was recorded and comes along as coordinates (arrays of whole numbers, packed); what is said
of them, names, colours, origins, is read off anew. Source text is never taken from the data but from whoever loads it,
who has it. All is checked against the limits of `_shapes`, so that what is loaded can be drawn.
"""

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.errors import BadInput
from core.trace import _shapes as wire
from core.trace._axes import Atom
from core.trace._loaded import Reader
from core.trace._meaning import Meaning
from core.trace._spans import Source
from core.trace._states import Raw
from core.trace._step import Step
from core.trace._trace import Trace

MOST_STEPS = wire.MOST_STEPS


def dump(trace: Trace, *, values: bool = True) -> dict[str, Any]:
    """The trace as data. Without `values` it is made for JSON.

    Raises BadInput for a trace of more than `MOST_STEPS` steps, and for a tensor that is too large to be drawn.
    """
    if len(trace) > MOST_STEPS:
        raise BadInput("trace.too-long", steps=len(trace), most=MOST_STEPS)
    return _Writer(values, trace._shared.storage_bytes).trace(trace)


def load(data: object, *, sources: Mapping[str, str]) -> Trace:
    """The trace that `dump` made this of; `sources` are the texts of the traced code, by file name.

    An exception comes back as one of the same name and text. Raises ValueError for anything that `dump` does not make,
    and for what is too large to be drawn.
    """
    return Reader(wire.Trace.model_validate(data), sources).trace()


class _Writer:
    def __init__(self, values: bool, storages: Sequence[int]) -> None:
        self.values, self._storages = values, storages
        self.tables: dict[str, list[Any]] = {
            name: [] for name in ("tensors", "places", "atoms", "arrays", "meanings")
        }  # fmt: skip
        self._known: dict[tuple[str, object], int] = {}
        self._held: list[object] = []  # so that no other takes their ids

    def trace(self, trace: Trace) -> dict[str, Any]:
        shared = trace._shared
        at = shared.inference.at
        inputs: dict[str, dict[str, Any]] = {}
        for name, (raw, value) in trace._raw_inputs.items():
            inputs[name] = {"tensor": self._tensor(raw), "meaning": self._meaning(at((-1, name, 0)))}
            if self.values and value is not None:
                inputs[name]["value"] = value
        return {
            "inputs": inputs,
            "steps": [self._step(step) for step in trace],
            "labels": [
                {"storage": storage, "name": name, "shape": list(shape)}
                for storage, named in shared.labels.items()
                for name, shape in named
            ],
            "storages": list(shared.storage_bytes),
            "error": _error(trace.error),
            "error_at": None if trace.error_source is None else self._place(trace.error_source),
            **self.tables,
        }

    def _step(self, step: Step) -> dict[str, Any]:
        op, at = step._op, step._shared.inference.at
        why = step.explanation
        told: dict[str, Any] = {
            "op": step.op,
            "args": step.args[: wire.LONGEST],
            "kind": step.kind,
            "names": list(step.names),
            "at": [self._place(source) for source in (step.source, *step.callers)] if op.stack else [],
            "inputs": [self._state(raw, at(ref)) for raw, ref in zip(op.inputs, step._ins, strict=True)],
            "outputs": [self._state(raw, at(ref)) for raw, ref in zip(op.outputs, step._outs, strict=True)],
            "moved": step.bytes_moved,
            "flops": step.flops,
            "live": step.live_bytes,
            "error": _error(step.error),
            "why": None if why is None else {"code": why.code, "params": {k: _plain(v) for k, v in why.params.items()}},
        }
        if self.values:
            told["values"] = list(op.values)
        return told

    def _state(self, raw: Raw, meaning: Meaning) -> dict[str, int]:
        return {"tensor": self._tensor(raw), "meaning": self._meaning(meaning)}

    def _entry(self, table: str, key: object) -> tuple[int, bool]:
        """The number of a thing in its table, and whether it is new there."""
        rows = self.tables[table]
        number = self._known.setdefault((table, key), len(rows))
        if number == len(rows):
            rows.append(None)
            return number, True
        return number, False

    def _tensor(self, raw: Raw) -> int:
        number, new = self._entry("tensors", (raw.place, raw.requires_grad))
        if new:
            nbytes = self._storages[raw.storage] if raw.has_storage else 0
            if math.prod(raw.shape) > wire.MOST_ELEMENTS or nbytes > wire.MOST_BYTES:
                most = {"most": wire.MOST_ELEMENTS, "nbytes": wire.MOST_BYTES}
                raise BadInput("trace.too-large", shape=raw.shape, **most)
            self.tables["tensors"][number] = {
                "shape": list(raw.shape),
                "stride": list(raw.stride),
                "offset": raw.offset,
                "dtype": str(raw.dtype).removeprefix("torch."),
                "storage": raw.storage,
                "grad": raw.requires_grad,
            }
        return number

    def _place(self, source: Source) -> int:
        place = {name: getattr(source, name) for name in wire.Place.model_fields}
        number, new = self._entry("places", tuple(place.values()))
        if new:
            self.tables["places"][number] = place
        return number

    def _meaning(self, m: Meaning) -> int:
        number, new = self._entry("meanings", id(m))
        if new:
            self._held.append(m)
            self.tables["meanings"][number] = {
                "shape": list(m.shape),
                "fields": [
                    {"atom": self._atom(atom), "dims": list(at.dims), "array": self._array(at.values)}
                    for atom, at in m.fields.items()
                ],
                "units": [
                    [{"atom": self._atom(atom), "stride": stride} for atom, stride in units] for units in m.units
                ],
                "paths": [
                    {"name": name, "axes": [None if axis is None else [*map(self._atom, axis)] for axis in axes]}
                    for name, axes in sorted(m.paths, key=lambda path: path[0])
                ],
                "exact": m.exact,
            }
        return number

    def _atom(self, atom: Atom) -> int:
        number, new = self._entry("atoms", id(atom))
        if new:
            self._held.append(atom)
            stands_for = atom.resolved()
            self.tables["atoms"][number] = {
                "name": atom.name,
                "size": atom.size,
                "parts": list(atom.parts),
                "mixed": atom.mixed,
                "weak": atom.weak,
                "root": None if atom.root is atom else self._atom(atom.root),
                "stands_for": None if stands_for == (atom,) else [self._atom(named) for named in stands_for],
            }
        return number

    def _array(self, values: np.ndarray) -> int:
        number, new = self._entry("arrays", id(values))
        if new:
            self._held.append(values)
            packed = zlib.compress(np.ascontiguousarray(values, "<i4").tobytes(), 1)
            self.tables["arrays"][number] = {
                "shape": list(values.shape),
                "data": base64.b64encode(packed).decode("ascii"),
            }
        return number


def _error(error: BaseException | None) -> dict[str, str] | None:
    return None if error is None else {"type": type(error).__name__[:100], "text": str(error)[: wire.LONGEST]}


def _plain(value: object) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, (int, float)) else str(value)[: wire.LONGEST]
