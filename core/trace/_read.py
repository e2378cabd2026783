"""What a meaning says: the names of axes, the coordinates of all elements, the origin of one."""

import math
from dataclasses import dataclass

import numpy as np

from core.trace._axes import UNKNOWN, Atom, Axis, joined
from core.trace._meaning import Ints, Meaning, dense


def axes_of(m: Meaning) -> tuple[Axis, ...]:
    if m.axes is None:
        m.axes = tuple(_axis(m, dim) for dim in range(len(m.shape)))
    return m.axes


def _axis(m: Meaning, dim: int) -> Axis:
    if m.shape[dim] == 0:
        return UNKNOWN
    atoms = m.along(dim)
    mixed = any(len(m.fields[a].dims) > 1 or any(r.mixed for r in a.resolved()) for a in atoms)
    there = m.ordered(dim)
    if mixed:  # second occurrences add nothing where the first is mixed in too
        there = [a for a in there if a.root is a or a.root not in there]
    parts = [p for a in there for r in a.resolved() for p in (r.parts or ("unknown",))]
    if not parts:
        return UNKNOWN if m.shape[dim] > 1 else Axis(())
    return Axis(joined(list(dict.fromkeys(parts)) if mixed else parts), mixed)


def coordinates(m: Meaning, name: str) -> Ints:
    """The coordinate along the axis called `name` for every element, -1 where there is none."""
    for wanted in (((name,),), (("H_kv", "G"),) if name == "H" else (), (("H", "d_h"), ("H_kv", "G", "d_h"))):
        for factors in wanted:
            total: Ints | None = None
            for factor in factors:
                found = _field_named(m, factor)
                if found is None:
                    total = None
                    break
                values, size = found
                total = values if total is None else np.where((total < 0) | (values < 0), -1, total * size + values)
            if total is not None and (len(factors) == 1 or name in ("H", "d_model")):
                return np.array(total)
    return np.full(m.shape, -1)


def _field_named(m: Meaning, name: str) -> tuple[Ints, int] | None:
    for atom, at in m.fields.items():
        resolved = atom.resolved()
        if len(resolved) == 1 and resolved[0].name == name:
            return dense(at, m.shape), atom.size
        if len(resolved) > 1 and any(r.name == name for r in resolved):
            weight = math.prod(r.size for r in resolved[[r.name for r in resolved].index(name) + 1 :])
            size = next(r.size for r in resolved if r.name == name)
            return np.where(dense(at, m.shape) < 0, -1, dense(at, m.shape) // weight % size), size
    if any(atom.name == name for unit in m.units for atom, _ in unit):
        return np.zeros(m.shape, np.int64), 1
    return None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one element came from.

    `coordinates` are its own, by name (head, token, feature). `inputs` has, for each named input that it depends
    on, the index or indices there: None for an axis along which it depends on everything (a sum ran over it).
    `exact` says that it *is* that element of the input, moved; else it was computed from that row.
    """

    coordinates: dict[str, int]
    inputs: dict[str, tuple[tuple[int | None, ...], ...]]
    exact: bool


def origin(m: Meaning, index: tuple[int, ...]) -> Origin:
    if len(index) != len(m.shape):
        raise IndexError(f"{len(index)} indices for an element of a tensor with {len(m.shape)} axes")
    index = tuple(range(n)[i] for i, n in zip(index, m.shape, strict=True))
    at: dict[Atom, int] = {a: 0 for units in m.units for a, _ in units}
    for atom, where in m.fields.items():
        at[atom] = int(where.values[tuple(index[d] for d in where.dims)])
    own: dict[str, int] = {}
    for atom, value in at.items():
        for part in reversed(atom.resolved()):
            if part.name and not part.weak and value >= 0:
                own[part.name] = value % part.size
            value //= part.size
    if "H_kv" in own and "G" in own:
        group = next(a.size for b in at for a in b.resolved() if a.name == "G")
        own["H"] = own["H_kv"] * group + own["G"]
    rows: dict[str, set[tuple[int | None, ...]]] = {}
    for name, axes in m.paths:
        rows.setdefault(name, set()).add(tuple(_index(atoms, at) for atoms in axes))
    order = {n: tuple(sorted(r, key=lambda row: [-1 if i is None else i for i in row])) for n, r in rows.items()}
    return Origin(own, order, m.exact)


def _index(atoms: tuple[Atom, ...] | None, at: dict[Atom, int]) -> int | None:
    total = 0
    for atom in atoms or ():
        value = 0 if atom.size == 1 else at.get(atom, -1)
        if value < 0:
            return None
        total = total * atom.size + value
    return None if atoms is None else total
