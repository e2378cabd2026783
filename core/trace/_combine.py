"""What meets what: the axes of several operands laid over each other, and axes summed away.

`project` lays one operand over the axes of the result, `combine` lays several over each other. Everything that
computes is made of these two: matmul is an einsum, an einsum is a projection of each operand and a combination.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from core.trace._axes import Atom, Names, is_length
from core.trace._meaning import Field, Meaning, Path, Shape, Units


@dataclass(slots=True)
class Meeting:
    """How `combine` goes about it.

    `strict`: coordinates must agree, not only names (query head h must meet key head h; whereas the halves of a
    rotation may be added). `last_first`: where two operands bring the same atom to different axes, the first
    operand's is the second occurrence (the keys). `twins` notes atoms that became second occurrences.
    """

    strict: bool = False
    last_first: bool = False
    twins: list[tuple[Atom, Atom]] | None = None


def project(m: Meaning, target: Sequence[int | None], shape: Shape) -> Meaning:
    """`m` with its axis d laid on axis target[d] of a result of rank len(shape), or summed away where that is None.

    A meaning that stretches over an axis summed away and one that stays is no longer whole: what stays is mixed.
    """
    rank = len(shape)
    if len(target) == rank and list(target) == list(range(rank)):
        return m
    placed: list[int] = [1] * rank
    units: list[Units] = [()] * rank
    for d, t in enumerate(target):
        if t is not None:
            placed[t] = m.shape[d]
            units[t] = m.units[d]
    fields: dict[Atom, Field] = {}
    gone: set[Atom] = {a for d, t in enumerate(target) if t is None for a, _ in m.units[d]}
    broken: set[int] = set()
    for atom, at in m.fields.items():
        if not at.dims and atom in gone:
            continue  # the one position that there was is summed away
        kept = [d for d in at.dims if target[d] is not None]
        if len(kept) < len(at.dims):
            gone.add(atom)
            broken.update(kept)
            continue
        dims = [t for d in at.dims if (t := target[d]) is not None]
        by = sorted(range(len(dims)), key=dims.__getitem__)
        fields[atom] = Field(tuple(dims[i] for i in by), at.values.transpose(by) if len(by) > 1 else at.values)
    for d in broken:
        t = target[d]
        if t is not None and not any(len(at.dims) > 1 and t in at.dims for at in fields.values()):
            _blur(fields, t, placed[t], [p for a in m.ordered(d) for r in a.resolved() for p in r.parts])
    paths = frozenset(_without(path, gone) for path in m.paths)
    return Meaning(tuple(placed), fields, tuple(units), paths, blended=m.blended)


def _without(path: Path, gone: set[Atom]) -> Path:
    name, axes = path
    return name, tuple(None if a is None or any(atom in gone for atom in a) else a for a in axes)


def _blur(fields: dict[Atom, Field], dim: int, size: int, parts: Iterable[str]) -> None:
    """Let one mixed atom stand for everything along `dim`."""
    there = [a for a, at in fields.items() if dim in at.dims]
    for atom in there:
        at = fields.pop(atom, None)
        if at is None:
            continue  # gone with another of its axes
        for other in at.dims:
            if other != dim:
                _blur(fields, other, at.values.shape[at.dims.index(other)], atom.parts)
    mixed = Atom(None, size, parts=tuple(dict.fromkeys(parts)), mixed=True, of=tuple(there))
    fields[mixed] = Field((dim,), np.arange(size))


def combine(ms: list[Meaning], shape: Shape, names: Names, how: Meeting) -> Meaning:
    """Operands of one rank (broadcast axes have size 1) laid over each other."""
    if len(ms) == 1 and ms[0].shape == shape:
        return ms[0]
    chosen: dict[int, list[int]] = {}  # axis -> the operands whose atoms describe it
    blurred: dict[int, tuple[str, ...]] = {}
    for group in _tied(ms, shape):
        if len(group) == 1:
            (dim,) = group
            chosen[dim], blurred[dim] = _on_one_axis(ms, dim, names, how)
        else:
            mixed = [k for k, m in enumerate(ms) if any(_stretches(at, group) for at in m.fields.values())]
            for dim in group:
                covering = [k for k in mixed if ms[k].along(dim)]
                chosen[dim] = covering or _on_one_axis(ms, dim, names, how)[0]
    fields: dict[Atom, Field] = {}
    renamed: list[dict[Atom, Atom]] = [{} for _ in ms]
    order = range(len(ms))[::-1] if how.last_first else range(len(ms))
    taken = _taken(ms, order) if how.strict else [set()] * len(ms)
    for k in order:
        for atom, at in ms[k].fields.items():
            if not at.dims or not all(k in chosen.get(d, ()) for d in at.dims):
                continue
            new = names.twin(atom) if atom in taken[k] else atom
            while new in fields and not _same(fields[new], at):
                new = names.twin(new)
            if new is not atom and how.twins is not None:
                how.twins.append((atom, new))
            renamed[k][atom] = new
            fields[new] = at
    _add_constants(ms, fields, names, how)
    for dim, parts in blurred.items():
        if parts:
            _blur(fields, dim, shape[dim], parts)
    units = _units(ms, shape, chosen, names, renamed, fields, taken, how)
    paths = frozenset(_followed(p, ms[k], fields, renamed[k]) for k in range(len(ms)) for p in ms[k].paths)
    blended = frozenset().union(*(m.blended for m in ms)) | (frozenset() if how.strict else _blended(ms, fields, names))
    return Meaning(shape, fields, units, paths, blended=blended)


def _blended(ms: list[Meaning], fields: dict[Atom, Field], names: Names) -> frozenset[Atom]:
    """Features that were put together from different ones of their kind."""
    return frozenset(
        atom
        for atom, at in fields.items()
        if atom.name is not None
        and names.is_feature(atom.name)
        and any(atom in m.fields and not _same(m.fields[atom], at) for m in ms)
    )


def _taken(ms: list[Meaning], order: Sequence[int]) -> list[set[Atom]]:
    """For each operand the lengths of which another has a single position, as a query by itself has.

    Then its own positions are others than that one, the keys': a position without an axis is told to all operands,
    one that has an axis to those after it.
    """
    taken: list[set[Atom]] = [set() for _ in ms]
    for place, j in enumerate(order):
        with_axis = {atom for units in ms[j].units for atom, _ in units}
        single = {a for a, at in ms[j].fields.items() if not at.dims and a.name is not None and is_length(a.name)}
        for later, k in enumerate(order):
            if k != j:
                taken[k] |= single if later > place else single - with_axis
    return taken


def _stretches(at: Field, group: list[int]) -> bool:
    return len(at.dims) > 1 and at.dims[0] in group


def _same(a: Field, b: Field) -> bool:
    return a.dims == b.dims and (a.values is b.values or np.array_equal(a.values, b.values))


def _add_constants(ms: list[Meaning], fields: dict[Atom, Field], names: Names, how: Meeting) -> None:
    """Coordinates that all elements share (the head that was picked) stay where the operands agree on them.

    Of features that are added to other features, the first operand's stay.
    """
    constant: dict[Atom, Field | None] = {}
    for m in ms:
        for atom, at in m.fields.items():
            if not at.dims and atom not in fields and atom.known:
                known = constant.setdefault(atom, at)
                first_stays = not how.strict and atom.name is not None and names.is_feature(atom.name)
                if known is not None and known.values != at.values and not first_stays:
                    constant[atom] = None
    fields.update({atom: at for atom, at in constant.items() if at is not None})


def _tied(ms: list[Meaning], shape: Shape) -> list[list[int]]:
    """Axes of size over 1, together where some atom stretches over several."""
    owner = {d: d for d, n in enumerate(shape) if n > 1}

    def top(d: int) -> int:
        while owner[d] != d:
            d = owner[d]
        return d

    for m in ms:
        for at in m.fields.values():
            for d in at.dims[1:]:
                owner[top(d)] = top(at.dims[0])
    groups: dict[int, list[int]] = {}
    for d in owner:
        groups.setdefault(top(d), []).append(d)
    return list(groups.values())


def _on_one_axis(ms: list[Meaning], dim: int, names: Names, how: Meeting) -> tuple[list[int], tuple[str, ...]]:
    """Which operand tells what axis `dim` means; and, where operands contradict each other, all that they mean."""
    here = [k for k, m in enumerate(ms) if m.shape[dim] > 1]
    if len(here) == 1:
        return here, ()
    known = [k for k in here if ms[k].along(dim) and all(a.known for a in ms[k].along(dim))]
    # What was only learned from a use before gives way, and contradicts nothing.
    known.sort(key=lambda k: any(a.alias for a in ms[k].along(dim)))
    first = (known or [k for k in here if ms[k].along(dim)] or here)[0]
    said = {k: _said(ms[k], dim) for k in here}
    for k in here:
        if k == first:
            continue
        if k in known:
            if not any(a.alias for a in ms[k].along(dim)) and _contradict(said[first], said[k], names, how):
                parts = (p for one in (said[first], said[k]) for atom in one for p in atom.parts)
                return [first], tuple(dict.fromkeys(parts))
        else:
            _learn(ms[k], ms[first], dim)
            common = [a for a in said[k] if a in said[first]]
            if len(said[first]) > 1 and any(not np.array_equal(said[k][a], said[first][a]) for a in common):
                return [first], tuple(dict.fromkeys(p for atom in said[first] for p in atom.parts))
    return [first], ()


def _said(m: Meaning, dim: int) -> dict[Atom, np.ndarray]:
    """The named atoms along an axis with their coordinates, as far as these lie along it alone."""
    found: dict[Atom, np.ndarray] = {}
    for atom in m.along(dim):
        at = m.fields[atom]
        weight = 1
        for part in reversed(atom.resolved()):
            found[part] = at.values // weight % part.size if len(at.dims) == 1 else at.values
            weight *= part.size
    return {a: v for a, v in found.items() if a.parts}


def _contradict(a: dict[Atom, np.ndarray], b: dict[Atom, np.ndarray], names: Names, how: Meeting) -> bool:
    if {x.name for x in a} == {x.name for x in b}:
        if not how.strict and (len(a) == 1 or any(names.is_feature(x.name or "") for x in a)):
            return False
        by_name = {x.name: v for x, v in b.items()}
        return any(not np.array_equal(v, by_name[x.name]) for x, v in a.items())
    return how.strict or not (_features(a, names) and _features(b, names))


def _features(said: dict[Atom, np.ndarray], names: Names) -> bool:
    """Whether an axis is one of features, of one head or of all."""
    parts = [p for atom in said for p in atom.parts]
    heads = ("H", "H_kv", "G")
    return any(map(names.is_feature, parts)) and all(p in heads or names.is_feature(p) for p in parts)


def _learn(unnamed: Meaning, model: Meaning, dim: int) -> None:
    """An axis that nobody has named yet is what it is laid over."""
    atoms = unnamed.along(dim)
    others = model.ordered(dim)
    if 1 < len(atoms) == len(others):  # as many parts of the same sizes: part by part
        mine = unnamed.ordered(dim)
        if [a.size for a in mine] == [a.size for a in others]:
            for atom, other in zip(mine, others, strict=True):
                if not atom.alias and (not atom.parts or atom.weak) and other.known and atom is not other:
                    atom.alias = other.resolved()
        return
    if len(atoms) != 1 or atoms[0].alias or (atoms[0].parts and not atoms[0].weak):
        return
    (atom,) = atoms
    at = unnamed.fields[atom]
    others = [a for a in model.along(dim) if len(model.fields[a].dims) == 1]
    whole = len(at.dims) == 1 and at.values.size == atom.size and (np.diff(at.values) == 1).all()
    if whole and others and len(others) == len(model.along(dim)) and atom not in others:
        named = tuple(r for a in model.ordered(dim) for r in a.resolved())
        if all(a.known for a in named) and math.prod(a.size for a in named) == atom.size and atom not in named:
            atom.alias = named
            return
    _label(atom, [p for a in model.ordered(dim) for r in a.resolved() for p in r.parts])


def _label(atom: Atom, parts: list[str]) -> None:
    """Call an unnamed atom what a part of it was laid over; the name gives way to any other."""
    if parts and "unknown" not in parts:
        atom.parts, atom.weak = tuple(parts), True


def _units(
    ms: list[Meaning],
    shape: Shape,
    chosen: dict[int, list[int]],
    names: Names,
    renamed: list[dict[Atom, Atom]],
    fields: dict[Atom, Field],
    taken: list[set[Atom]],
    how: Meeting,
) -> tuple[Units, ...]:
    """The atoms of size 1, each axis from the first operand that has some; met twice, one is the second occurrence."""
    found: list[Units] = [()] * len(shape)
    met: set[Atom] = set()
    wanted = []
    for dim, n in enumerate(shape):
        able = [k for k in range(len(ms)) if ms[k].units[dim] and (n == 1 or k in chosen.get(dim, ()))]
        able.sort(key=lambda k: not all(a.known for a, _ in ms[k].units[dim]))
        if able:
            wanted.append((able[0], dim))
    for k, dim in sorted(wanted, key=lambda entry: -entry[0] if how.last_first else entry[0]):
        units = []
        for atom, weight in ms[k].units[dim]:
            new = names.twin(atom) if atom in taken[k] else atom
            while new in met or (new in fields and fields[new].dims and atom not in ms[k].along(dim)):
                new = names.twin(new)
            if new is not atom:
                renamed[k][atom] = new
                if how.twins is not None:
                    how.twins.append((atom, new))
                if atom in ms[k].fields and not ms[k].fields[atom].dims:
                    fields[new] = ms[k].fields[atom]
            met.add(new)
            units.append((new, weight))
        found[dim] = tuple(units)
        for m in ms:
            if m.shape[dim] == 1 == shape[dim]:
                for atom, _ in m.units[dim]:
                    if not atom.known and not atom.alias:
                        _label(atom, [p for a, _ in units for r in a.resolved() for p in r.parts])
    return tuple(found)


def _followed(path: Path, m: Meaning, fields: dict[Atom, Field], renamed: dict[Atom, Atom]) -> Path:
    """A path through this meeting: an index stays known where the result still has its coordinate."""
    name, axes = path
    followed: list[tuple[Atom, ...] | None] = []
    for atoms in axes:
        if atoms is None:
            followed.append(None)
            continue
        new = tuple(renamed.get(a, a) for a in atoms)
        whole = all(
            b.size == 1 or (b in fields and (a not in m.fields or _same(fields[b], m.fields[a])))
            for a, b in zip(atoms, new, strict=True)
        )
        followed.append(new if whole else None)
    return name, tuple(followed)
