"""Where every element of a tensor came from, kept as one coordinate field for each atom.

A field is exact and small: it has only those axes along which its coordinate changes. A clean axis is one whose
atoms change along no other axis; everything said about names is read off the fields, nothing off sizes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.trace._axes import Atom, Axis, Names

Shape = tuple[int, ...]
Ints = NDArray[np.int64]
Units = tuple[tuple[Atom, int], ...]  # atoms of size 1 in one axis, each with its stride within the axis
Path = tuple[str, tuple[tuple[Atom, ...] | None, ...]]  # a named input and, for each of its axes, who knows the index


@dataclass(slots=True)
class Field:
    """The coordinates along one atom: `values` has one axis for each of `dims`, ascending; -1 where there is none."""

    dims: tuple[int, ...]
    values: Ints


@dataclass(slots=True)
class Meaning:
    """The fields of one tensor, and the atoms of size 1 that its axes carry along."""

    shape: Shape
    fields: dict[Atom, Field]
    units: tuple[Units, ...]
    paths: frozenset[Path] = frozenset()
    exact: bool = False  # whether every element is an element of a named input, not computed from it
    blended: frozenset[Atom] = frozenset()  # features computed from others of their kind too, as a rotation does
    axes: tuple[Axis, ...] | None = None  # read once, when all names are known

    def signature(self) -> tuple:
        """What two meanings share if and only if they say the same."""
        said = frozenset((atom, at.dims, at.values.tobytes()) for atom, at in self.fields.items())
        return self.shape, said, self.units, self.paths, self.exact, self.blended

    def along(self, dim: int) -> list[Atom]:
        return [atom for atom, at in self.fields.items() if dim in at.dims]

    def known_along(self, dim: int) -> list[Atom]:
        """The atoms along an axis, those of size 1 too."""
        return self.along(dim) + [atom for atom, _ in self.units[dim]]

    def ordered(self, dim: int) -> list[Atom]:
        """The atoms along an axis, the slowest varying first, those of size 1 at their places."""
        atoms = self.along(dim)
        if len(atoms) == 1 and not self.units[dim]:
            return atoms
        found: list[tuple[float, int, Atom]] = []
        for atom in atoms:
            at = self.fields[atom]
            line = at.values[None]
            if len(at.dims) > 1:
                line = np.moveaxis(at.values, at.dims.index(dim), -1).reshape(-1, self.shape[dim])
            change = line[:, 1:] != line[:, :-1]
            found.append((float(change.sum(1).max()), -int(change.argmax(1).max()) - 1, atom))
        slowest = [(changes, -minus) for changes, minus, _ in found]
        for atom, weight in self.units[dim]:
            if any(atom is other for _, _, other in found):
                continue  # what is left of an atom, beside more of it
            # An atom of size 1 stands before those that run faster than its stride and after the others.
            faster = [changes for changes, stride in slowest if stride < weight]
            found.append((min(faster, default=math.inf) - 0.5, -weight, atom))
        found.sort(key=lambda entry: entry[:2])
        return [atom for _, _, atom in found]

    def with_fields(self, shape: Shape, fields: dict[Atom, Field], units: tuple[Units, ...]) -> "Meaning":
        return Meaning(shape, fields, units, self.paths, self.exact, self.blended)


def fresh(shape: Shape, weak: bool = False) -> Meaning:
    """A tensor of which nothing is known: an unnamed atom for each axis."""
    fields = {Atom(None, n, weak=weak): Field((d,), np.arange(n)) for d, n in enumerate(shape) if n > 1}
    return Meaning(shape, fields, tuple(() for _ in shape))


def named(shape: Shape, atoms: Iterable[tuple[Atom, ...]]) -> Meaning:
    """A tensor whose axes are full products of `atoms`, the first of each axis the slowest."""
    fields: dict[Atom, Field] = {}
    units: list[Units] = []
    for dim, factors in enumerate(atoms):
        weight = shape[dim]
        ones: list[tuple[Atom, int]] = []
        for atom in factors:
            weight //= atom.size
            if atom.size == 1:
                ones.append((atom, weight))
            else:
                fields[atom] = Field((dim,), np.arange(shape[dim]) // weight % atom.size)
        units.append(tuple(ones))
    return Meaning(shape, fields, tuple(units))


def compressed(dims: tuple[int, ...], values: Ints) -> Field:
    """Without the axes along which nothing changes; -1 agrees with everything."""
    for axis in reversed(range(values.ndim)):
        first, last = values.take(0, axis), values.take(-1, axis)
        if values.ndim == 1 and first != last and first >= 0 and last >= 0:
            continue
        top = values.max(axis)
        if ((values == np.expand_dims(top, axis)) | (values < 0)).all():
            values = top
            dims = dims[:axis] + dims[axis + 1 :]
    return Field(dims, np.asarray(values))


def dense(at: Field, shape: Shape) -> Ints:
    """A field spread over the whole tensor (a read-only view)."""
    return np.broadcast_to(at.values.reshape([n if d in at.dims else 1 for d, n in enumerate(shape)]), shape)


# Layout -------------------------------------------------------------------------------------------------------


def permute(m: Meaning, order: list[int]) -> Meaning:
    new = {old: place for place, old in enumerate(order)}
    fields = {}
    for atom, at in m.fields.items():
        dims = [new[d] for d in at.dims]
        if len(dims) > 1:
            by = sorted(range(len(dims)), key=dims.__getitem__)
            fields[atom] = Field(tuple(dims[i] for i in by), at.values.transpose(by))
        else:
            fields[atom] = Field(tuple(dims), at.values)
    return m.with_fields(tuple(m.shape[d] for d in order), fields, tuple(m.units[d] for d in order))


def take(m: Meaning, dim: int, index: slice | Ints) -> Meaning:
    """Some positions along one axis, in any order; repeated ones get an atom that counts the copies."""
    n = len(np.empty(m.shape[dim], np.bool_)[index])
    fields = {}
    for atom, at in m.fields.items():
        if dim in at.dims:
            where = at.dims.index(dim)
            key = (*[slice(None)] * where, index)
            at = compressed(at.dims, at.values[key])
            if at.values.size and at.values.max() < 0:
                continue
        fields[atom] = at
    shape = (*m.shape[:dim], n, *m.shape[dim + 1 :])
    units = (*m.units[:dim], _units_left(m, fields, dim, n), *m.units[dim + 1 :])
    return m.with_fields(shape, fields, units)


def complete(at: Field, atom: Atom) -> bool:
    """Whether a field has every coordinate of its atom."""
    return len(np.unique(at.values[at.values >= 0])) == atom.size


def _units_left(m: Meaning, fields: dict[Atom, Field], dim: int, n: int) -> Units:
    """The atoms of size 1 that an axis keeps when it is cut to `n`: those that what is left is a whole part of.

    An axis cut down to size 1 keeps the name of what ran fastest along it.
    """
    if m.shape[dim] in (1, n):  # copies of an atom of size 1 run faster than it
        return tuple((atom, weight * n // m.shape[dim]) for atom, weight in m.units[dim])
    left = [atom for atom, at in fields.items() if dim in at.dims]
    if n == 1:
        return tuple((atom, 1) for atom in m.ordered(dim)[-1:])
    whole = all(complete(fields[atom], atom) for atom in left)
    return tuple((atom, min(weight, n)) for atom, weight in m.units[dim]) if whole else ()


def select(m: Meaning, dim: int, index: int) -> Meaning:
    """One position along an axis; the coordinate stays known."""
    return squeeze(take(m, dim, np.array([index])), dim)


def squeeze(m: Meaning, dim: int) -> Meaning:
    """Drop an axis of size 1; what it meant is known of every element."""
    fields = {a: Field(tuple(d - (d > dim) for d in at.dims), at.values) for a, at in m.fields.items()}
    for atom, _ in m.units[dim]:
        fields.setdefault(atom, Field((), np.zeros((), np.int64)))
    return m.with_fields(m.shape[:dim] + m.shape[dim + 1 :], fields, m.units[:dim] + m.units[dim + 1 :])


def unsqueeze(m: Meaning, dim: int) -> Meaning:
    """Put in a new axis of size 1, which means nothing."""
    fields = {a: Field(tuple(d + (d >= dim) for d in at.dims), at.values) for a, at in m.fields.items()}
    return m.with_fields((*m.shape[:dim], 1, *m.shape[dim:]), fields, (*m.units[:dim], (), *m.units[dim:]))


def broadcast(m: Meaning, shape: Shape) -> Meaning:
    """Stretched to `shape` as torch's expand does; stretched axes get an atom that counts the copies."""
    while len(m.shape) < len(shape):
        m = unsqueeze(m, 0)
    # An atom of size 1 is the slower of the two: copies of one key/value head are the members of its group.
    units = tuple(
        unit if old == new else tuple((atom, weight * new) for atom, weight in unit)
        for unit, old, new in zip(m.units, m.shape, shape, strict=True)
    )
    return m.with_fields(shape, dict(m.fields), units)


def gathered(m: Meaning, index: Ints) -> Meaning:
    """Elements picked by their flat `index`, whatever the pattern."""
    fields = {}
    for atom, at in m.fields.items():
        values = dense(at, m.shape).reshape(-1)
        picked = np.where(index < 0, -1, values[np.maximum(index, 0)])
        fields[atom] = compressed(tuple(range(index.ndim)), picked)
    return m.with_fields(index.shape, fields, tuple(() for _ in index.shape))


def reshape_fields(m: Meaning, shape: Shape) -> dict[Atom, Field]:
    """The fields in reading order under a new shape, block by block of axes that reshape among themselves."""
    block_of: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for block in _blocks(m.shape, shape):
        for dim in block[0]:
            block_of[dim] = block
    fields = {}
    for atom, at in m.fields.items():
        touched = sorted({block_of[d] for d in at.dims})
        before = [d for old, _ in touched for d in old]
        after = tuple(d for _, new in touched for d in new)
        if tuple(m.shape[d] for d in before) == tuple(shape[d] for d in after):
            fields[atom] = Field(tuple(after[before.index(d)] for d in at.dims), at.values)
            continue
        full = np.broadcast_to(
            at.values.reshape([m.shape[d] if d in at.dims else 1 for d in before]), [m.shape[d] for d in before]
        )
        fields[atom] = compressed(after, full.reshape([shape[d] for d in after]))
    return fields


def _blocks(old: Shape, new: Shape) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The smallest groups of neighbouring axes (those of size 1 left out) with equal products."""
    a = [d for d, n in enumerate(old) if n != 1]
    b = [d for d, n in enumerate(new) if n != 1]
    i = j = 0
    while i < len(a) and j < len(b):
        i0, j0 = i, j
        left, right = old[a[i]], new[b[j]]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left *= old[a[i]]
                i += 1
            else:
                right *= new[b[j]]
                j += 1
        yield tuple(a[i0:i]), tuple(b[j0:j])


def counted(m: Meaning, names: Names, name: str | None = None) -> Meaning:
    """With an atom more for every axis along which elements could not be told apart: it counts the copies.

    Copies of key/value heads are the groups, G; others are called ``×n`` unless a `name` is given.
    """
    for dim, n in enumerate(m.shape):
        if n < 2:
            continue
        atoms = m.along(dim)
        if len(atoms) == 1 and atoms[0].size >= n and len(m.fields[atoms[0]].dims) == 1:
            values = m.fields[atoms[0]].values
            if (values[1:] > values[:-1]).all():
                continue
        number, copies = _occurrence(m, dim, atoms)
        if copies == 1:
            continue
        _number(
            m, dim, number, copies, _copies(m, dim, copies, names) if name is None else _pieces(name, copies, names)
        )
    return m


def _pieces(name: str, size: int, names: Names) -> tuple[Atom, ...]:
    return (Atom(None, size),) if name == "unknown" else names.factors(name, size)


def _number(m: Meaning, dim: int, number: Ints, size: int, atoms: tuple[Atom, ...]) -> None:
    for atom in atoms:
        size //= atom.size
        if atom.size > 1:
            m.fields[atom] = Field((dim,), number // size % atom.size)


def _occurrence(m: Meaning, dim: int, atoms: list[Atom]) -> tuple[Ints, int]:
    """For each position along `dim`, how many positions before it hold the very same coordinates."""
    n = m.shape[dim]
    if not atoms:
        return np.arange(n), n
    rows = [np.moveaxis(m.fields[a].values, m.fields[a].dims.index(dim), 0).reshape(n, -1) for a in atoms]
    _, same = np.unique(np.concatenate(rows, 1), axis=0, return_inverse=True)
    same = same.reshape(-1)
    number = np.zeros(n, np.int64)
    for group in range(same.max() + 1):
        at = np.flatnonzero(same == group)
        number[at] = np.arange(len(at))
    return number, int(number.max()) + 1


def _copies(m: Meaning, dim: int, copies: int, names: Names) -> tuple[Atom, ...]:
    group = names.sizes.get("G")
    here = [a.name for a in m.fields] + [a.name for unit in m.units for a, _ in unit]
    if copies == group and "H_kv" in here and "G" not in here:
        return (names.atom("G", copies),)
    return (names.copies(copies),)
