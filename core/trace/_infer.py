"""What every axis of every tensor of a trace means: one pass over the recorded operations, after the run."""

from collections.abc import Mapping

import numpy as np
import torch

from core.trace import _meaning as mean
from core.trace._axes import Atom, Names, Spec, factor_sizes, is_length, parse
from core.trace._compute import compute
from core.trace._contract import Evidence
from core.trace._features import Features
from core.trace._layout import argument, flat_index, layout, positions_in, with_values
from core.trace._meaning import Field, Meaning, Path, compressed, dense
from core.trace._ops import Tensor, plain_name, writes_in_place
from core.trace._record import Op
from core.trace._states import NO_STORAGE, Raw

Ref = tuple[int, str, int]  # operation, "in" or "out", position
Place = tuple[int, int]  # a code object and a position in it


class Inference:
    """The meanings of one trace.

    `given` are the axes that the caller names, by input or parameter; `labels` the names of parameters by
    storage and shape. Queries and keys of self-attention come from one axis: the second occurrence is called Lk.
    Which of the two is the second is read off the run: the axis that is normalised and then summed over with the
    values is the keys'; where the run does not say so, it is the one that the right operand brought.
    """

    def __init__(
        self,
        ops: list[Op],
        inputs: Mapping[str, Raw],
        labels: Mapping[int, list[tuple[str, tuple[int, ...]]]],
        given: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> None:
        self.ops, self.inputs, self.labels = ops, inputs, labels
        self.specs = self._parsed(given)
        self.not_understood: list[Exception] = []
        self.given_sizes = dict(sizes)
        flipped: set[Place] = set()
        with torch._C.DisableTorchFunction():  # what is worked out here is nobody's step
            self._run(flipped)
            while more := self._turned() - flipped:
                flipped |= more
                self._run(flipped)

    def at(self, ref: Ref) -> Meaning:
        index, side, place = ref
        if index < 0:
            return self.leaves[side]
        return (self.before if side == "in" else self.after)[index][place]

    def _parsed(self, given: Mapping[str, str]) -> dict[str, Spec]:
        shapes = {name: tuple(raw.shape) for name, raw in self.inputs.items()}
        for named in self.labels.values():
            shapes.update({name: shape for name, shape in named if name not in shapes})
        return {name: parse(text, shapes[name], name) for name, text in given.items() if name in shapes}

    def _run(self, flipped: set[Place]) -> None:
        self.names = self._names()
        self.features = Features(self.ops, self.names)
        self.seen = Evidence()
        self._by_key: dict[tuple, Meaning] = {}
        self._by_place: dict[tuple, Meaning] = {}
        self._in_storage: dict[int, dict[tuple, Raw]] = {}
        self._same: dict[tuple, Meaning] = {}
        self._roles: dict[tuple, Meaning] = {}
        self._done: dict[tuple, list[Meaning]] = {}
        self.before: list[list[Meaning]] = []
        self.after: list[list[Meaning]] = []
        self.leaves: dict[str, Meaning] = {}
        for name, raw in self.inputs.items():
            if name in self.specs or raw.place not in self._by_place:
                self._put(raw, self._leaf(name, raw))
            self.leaves[name] = self._get(raw)
        for index, op in enumerate(self.ops):
            ms = [self._get(raw) for raw in op.inputs]
            self.before.append(ms)
            made: list[Meaning] = []
            if op.error is None and op.outputs:
                made = self._once(index, op, ms, _place(op) in flipped)
                for raw, m in zip(op.outputs, made, strict=True):
                    self._put(raw, m)
            self.after.append(made)

    def _names(self) -> Names:
        names = Names(self.given_sizes)
        shapes = {name: tuple(raw.shape) for name, raw in self.inputs.items()}
        for named in self.labels.values():
            shapes.update({name: shape for name, shape in named if name not in shapes})
        for name, spec in self.specs.items():
            for size, factors in zip(shapes[name], spec, strict=True):
                if len(factors) == 1 and factors[0] != "?":
                    names.learn(factors[0], size)
        names.derive()
        return names

    def _leaf(self, name: str | None, raw: Raw) -> Meaning:
        """A tensor that no operation made: an input or a parameter, named or not."""
        shape = tuple(raw.shape)
        spec = self.specs.get(name) if name else None
        if name is None or name in self.inputs or (spec is None and raw.storage not in self.labels):
            return mean.fresh(shape) if spec is None else self._declared(name or "", spec, shape)
        if spec is None:
            return self._roles.setdefault((_role(name), shape), mean.fresh(shape))
        return self._declared(name, spec, shape)

    def _declared(self, name: str, spec: Spec, shape: mean.Shape) -> Meaning:
        used: set[Atom] = set()
        axes = [self._factors(factors, size, name, used) for factors, size in zip(spec, shape, strict=True)]
        m = mean.named(shape, axes)
        path: Path = (name, tuple(axes))
        m.paths, m.exact = frozenset({path}), name in self.inputs
        return m

    def _factors(self, factors: tuple[str, ...], size: int, name: str, used: set[Atom]) -> tuple[Atom, ...]:
        if factors in ((), ("?",)):
            return (Atom(None, size),) if size > 1 else ()
        sizes = factor_sizes(factors, size, self.names.sizes, name)
        found: list[Atom] = []
        for factor, n in zip(factors, sizes, strict=True):
            for atom in self.names.factors(factor, n):
                while atom in used:
                    atom = self.names.twin(atom)  # L L: the second is Lk
                used.add(atom)
                found.append(atom)
        return tuple(found)

    # The table of what lies where ----------------------------------------------------------------------------

    def _put(self, raw: Raw, m: Meaning) -> None:
        if raw.storage == NO_STORAGE:
            return
        self._by_key[raw.key] = self._by_place[raw.place] = m
        self._in_storage.setdefault(raw.storage, {})[raw.place] = raw

    def _get(self, raw: Raw) -> Meaning:
        m = self._by_key.get(raw.key) or self._by_place.get(raw.place)
        if m is None:
            m = self._from_storage(raw) or self._leaf(self._label(raw), raw)
            self._put(raw, m)
        return m

    def _label(self, raw: Raw) -> str | None:
        return next((n for n, shape in self.labels.get(raw.storage, ()) if shape == tuple(raw.shape)), None)

    def _from_storage(self, raw: Raw) -> Meaning | None:
        """A tensor not seen before, in a storage that was: read off its cells."""
        base = self._largest(raw.storage)
        if base is None or raw.storage == NO_STORAGE:
            return None
        index = positions_in(raw, base)
        if (index < 0).any():
            return None
        return mean.gathered(self._by_place[base.place], index)

    def _largest(self, storage: int) -> Raw | None:
        known = self._in_storage.get(storage)
        return max(known.values(), key=lambda raw: int(np.prod(raw.shape)), default=None) if known else None

    # One operation -------------------------------------------------------------------------------------------

    def _once(self, index: int, op: Op, ms: list[Meaning], flipped: bool) -> list[Meaning]:
        """The outputs' meanings, taken over where the same was done to the same before: layers repeat."""
        if op.indices or writes_in_place(op.op):
            return self._step(index, op, ms, flipped)
        key = (op.op, repr(op.args), repr(op.kwargs), flipped, *map(id, ms), *(raw.shape for raw in op.outputs))
        made = self._done.get(key)
        if made is None:
            made = self._step(index, op, ms, flipped)
            made = self._done[key] = [self._same.setdefault(m.signature(), m) for m in made]
        return made

    def _step(self, index: int, op: Op, ms: list[Meaning], flipped: bool) -> list[Meaning]:
        name = plain_name(op.op)
        try:
            if writes_in_place(op.op) and name in ("setitem", "copy_", "index_copy_"):
                return [self._written(op, ms)]
            found = layout(op, ms, self.names)
            if found is None:
                found = compute(op, index, ms, self.names, self.features, self.seen, flipped)
            if found is None and writes_in_place(op.op):
                found = ms[:1]
            if found is not None and len(found) == len(op.outputs):
                return [_complete(m) for m in found]
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            self.not_understood.append(error)  # arguments written in a way not thought of: nobody can name the result
        return [mean.fresh(tuple(raw.shape)) for raw in op.outputs]

    def _written(self, op: Op, ms: list[Meaning]) -> Meaning:
        """An in-place write of one tensor into (a part of) another: the part takes over the coordinates."""
        raw, old = op.inputs[0], ms[0]
        region = self._region(op, old)
        value = ms[-1] if len(ms) > 1 and not _is_index(op, len(ms) - 1) else None
        if value is None:
            return old
        value = _keeping_lengths(mean.broadcast(value, region.shape), old)
        fields: dict[Atom, Field] = {}
        size = int(np.prod(old.shape))
        everywhere = tuple(range(len(old.shape)))
        for atom in {**old.fields, **value.fields}:
            if not atom.known and not atom.mixed:
                continue
            full = np.full(size, -1)
            if atom in old.fields:
                full[:] = dense(old.fields[atom], old.shape).reshape(-1)
            if atom in value.fields:
                full[region] = dense(value.fields[atom], value.shape)
            elif not is_length(atom.name or ""):
                full[region] = -1
            fields[atom] = compressed(everywhere, full.reshape(old.shape))
        theirs = value.units if len(value.units) == len(old.units) else old.units
        units = tuple(
            mine or (other if n == 1 else ()) for mine, other, n in zip(old.units, theirs, old.shape, strict=True)
        )
        new = Meaning(old.shape, fields, units, old.paths | value.paths)
        if not any((at.values < 0).any() for at in fields.values()):
            new = mean.counted(new, self.names, self._loop_name(new))
        new = _complete(new)
        self._spread(raw, new)
        return new

    def _loop_name(self, m: Meaning) -> str | None:
        here = {a.name for a in m.fields}
        return "H" if "d_h" in here and not here & {"H", "H_kv", "G"} and "H" in self.names.sizes else "unknown"

    def _region(self, op: Op, m: Meaning) -> np.ndarray:
        index = flat_index(m)
        if op.op == "setitem":
            key = op.args[1] if isinstance(op.args[1], tuple) else (op.args[1],)
            return index[tuple(with_values(i, op) for i in key)].numpy()
        if plain_name(op.op) == "index_copy_":
            dim, at = argument(op, 1, "dim"), argument(op, 2, "index")
            return index.index_select(dim, op.indices[at.index].long()).numpy()
        return index.numpy()

    def _spread(self, raw: Raw, new: Meaning) -> None:
        """Let the storage's other tensors know what was written through this one."""
        base = self._largest(raw.storage)
        keep = {raw.place}
        if base is not None and base.place != raw.place:
            at = positions_in(raw, base)
            old = self._by_place[base.place]
            if (at >= 0).all():
                fields: dict[Atom, Field] = {}
                for atom in {**old.fields, **new.fields}:
                    if not atom.known and not atom.mixed:
                        continue
                    full = np.full(int(np.prod(base.shape)), -1)
                    if atom in old.fields:
                        full[:] = dense(old.fields[atom], old.shape).reshape(-1)
                    full[at] = dense(new.fields[atom], new.shape) if atom in new.fields else -1
                    fields[atom] = compressed(tuple(range(len(base.shape))), full.reshape(base.shape))
                whole = Meaning(old.shape, fields, old.units, old.paths | new.paths)
                self._put(base, _complete(whole))
                keep.add(base.place)
        known = self._in_storage.get(raw.storage, {})
        for place in [p for p in known if p not in keep]:
            del known[place]
            self._by_place.pop(place, None)
        for key in [k for k in self._by_key if k[1] == raw.storage]:
            del self._by_key[key]

    def _turned(self) -> set[Place]:
        """Contractions whose first operand brought the keys: its axis is normalised and summed over, the other not."""
        turned = set()
        for twin, (index, first) in self.seen.origin.items():
            for signs in (self.seen.normalised, self.seen.summed):
                if first not in signs or twin in signs:
                    break
            else:
                turned.add(_place(self.ops[index]))
        return turned


def _role(name: str) -> str:
    """A parameter's name without the number of its layer: what it is for, the same in each layer.

    The last module's number stays: ``mlp.0`` and ``mlp.2`` are different things.
    """
    parts = name.split(".")
    return ".".join("*" if part.isdigit() and i < len(parts) - 2 else part for i, part in enumerate(parts))


def _place(op: Op) -> Place:
    return (id(op.stack[0][0]), op.stack[0][1]) if op.stack else (0, 0)


def _is_index(op: Op, position: int) -> bool:
    """Whether an input of setitem is part of the index, not the value."""
    return op.op == "setitem" and not (isinstance(op.args[2], Tensor) and op.args[2].index == position)


def _keeping_lengths(value: Meaning, old: Meaning) -> Meaning:
    """`value` without its lengths where the tensor written to has its own: new tokens take their place in a cache."""
    if not any(a.known and is_length(a.name or "") for a in old.fields):
        return value
    fields = {a: at for a, at in value.fields.items() if not is_length(a.name or "")}
    return value.with_fields(value.shape, fields, value.units)


def _complete(m: Meaning) -> Meaning:
    """Every axis has an atom, if only an unnamed one."""
    for dim, n in enumerate(m.shape):
        if n > 1 and not m.along(dim):
            m.fields[Atom(None, n)] = Field((dim,), np.arange(n))
    return m
