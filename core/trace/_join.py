"""Several tensors made one: cat and stack."""

import numpy as np

from core.trace._axes import Atom, Names, is_length
from core.trace._meaning import Field, Meaning, Path, Units, compressed, counted


def cat(ms: list[Meaning], dim: int, names: Names, *, distinct: bool) -> Meaning:
    """The pieces `ms` side by side along `dim`; `distinct` says that they are not one tensor several times.

    Pieces that carry coordinates of one atom (the heads of one projection, the halves of a rotation) make that
    atom whole again. New keys joined to cached ones are keys: Lk. Per-head features of distinct tensors, as many
    as there are heads, make an axis of heads.
    """
    ms = _rotated(_agreed(ms, dim)) if distinct else _agreed(ms, dim)
    total = sum(m.shape[dim] for m in ms)
    shape = (*ms[0].shape[:dim], total, *ms[0].shape[dim + 1 :])
    fields: dict[Atom, Field] = {}
    for atom in dict.fromkeys(a for m in ms for a in m.fields):
        dims = tuple(sorted({dim, *(d for m in ms if atom in m.fields for d in m.fields[atom].dims)}))
        parts = []
        for m in ms:
            size = [m.shape[d] for d in dims]
            at = m.fields.get(atom)
            if at is None:
                parts.append(np.full(size, -1))
            else:
                laid = [n if d in at.dims else 1 for d, n in zip(dims, size, strict=True)]
                parts.append(np.broadcast_to(at.values.reshape(laid), size))
        fields[atom] = compressed(dims, np.concatenate(parts, dims.index(dim)))
    units: list[Units] = [next((m.units[d] for m in ms if m.units[d]), ()) for d in range(len(shape))]
    # An atom of size 1 in every piece runs faster than whatever tells the pieces apart.
    units[dim] = tuple((a, 1) for a, _ in ms[0].units[dim] if a.size == 1 and not is_length(a.name or "L"))
    paths: frozenset[Path] = frozenset().union(*(m.paths for m in ms))
    joined = Meaning(shape, fields, tuple(units), paths, all(m.exact for m in ms))
    _regrouped(joined, dim, names)
    kinds = [_named_along(m, dim) for m in ms]
    if len(ms) > 1 and _different(kinds, ms, dim):
        _replace(joined, dim, _common(kinds, total, names))
        return joined
    name = _pieces_name(ms, names) if distinct and len(ms) > 1 else None
    joined = counted(joined, names, name)
    of_tokens = all(kinds) and all(is_length(n) for kind in kinds for n in kind)
    if of_tokens and len(joined.along(dim)) > 1 and (_sizes_differ(joined, dim) or _sources_differ(ms)):
        _replace(joined, dim, names.atom("Lk", total))
    return joined


def _sizes_differ(m: Meaning, dim: int) -> bool:
    lengths = [a for a in m.along(dim) if a.name is not None and is_length(a.name)]
    return len(lengths) > 1


def _sources_differ(ms: list[Meaning]) -> bool:
    """Whether the pieces come from different inputs: tokens of one and tokens of another."""
    return len({frozenset(name for name, _ in m.paths) for m in ms}) > 1


def _rotated(ms: list[Meaning]) -> list[Meaning]:
    """Two pieces computed from the same two halves of some features, as a rotation makes them: one half each.

    Each was computed from both halves and carries the coordinates of the one that came first; where that is the
    same for both, the second piece is the other half.
    """
    if len(ms) != 2:
        return ms
    for atom in ms[0].blended & ms[1].blended:
        at, other = ms[0].fields.get(atom), ms[1].fields.get(atom)
        if at is None or other is None or len(at.dims) > 1 or not np.array_equal(at.values, other.values):
            continue
        rest = np.setdiff1d(np.arange(atom.size), at.values)
        if rest.size == at.values.size:
            second = ms[1].with_fields(ms[1].shape, dict(ms[1].fields), ms[1].units)
            second.fields[atom] = Field(other.dims, rest.reshape(at.values.shape))
            return [ms[0], second]
    return ms


def _regrouped(m: Meaning, dim: int, names: Names) -> None:
    """An atom of size 1 known of every element goes back to the axis of those that it belongs with, or to its own."""
    loose = [a for a, at in m.fields.items() if a.size == 1 and not at.dims]
    for atom in loose:
        own = m.shape[dim] == 1 and not m.units[dim] and len(loose) == 1
        if own or any(names.belong(atom.name, a.name) for a in m.along(dim)):
            del m.fields[atom]
            m.units = (*m.units[:dim], (*m.units[dim], (atom, m.shape[dim])), *m.units[dim + 1 :])


def _named_along(m: Meaning, dim: int) -> frozenset[str]:
    along = [r for a in m.along(dim) for r in a.resolved()] + [a for a, _ in m.units[dim]]
    return frozenset(atom.name or "unknown" for atom in along)


def _different(kinds: list[frozenset[str]], ms: list[Meaning], dim: int) -> bool:
    """Whether the pieces' own axes mean different things, so that no atom can be made whole."""
    if len(set(kinds)) > 1:
        return True
    if kinds[0] == {"unknown"}:
        return False
    # Tokens one by one (size 1) are the same atom name without a coordinate: they are new positions.
    new = any(atom.size == 1 for m in ms for atom, _ in m.units[dim])
    return bool(kinds[0]) and all(is_length(n) for n in kinds[0]) and new


def _common(kinds: list[frozenset[str]], total: int, names: Names) -> Atom:
    every = frozenset().union(*kinds)
    if every and all(is_length(name) for name in every):
        return names.atom("Lk", total)
    if "unknown" in every or not every or any(not kind for kind in kinds):
        return Atom(None, total)
    return Atom(None, total, parts=tuple(sorted(every)), mixed=True)


def _replace(m: Meaning, dim: int, atom: Atom) -> None:
    """Let the axis `dim` mean `atom` and nothing else."""
    for old in m.along(dim):
        del m.fields[old]
    m.fields[atom] = Field((dim,), np.arange(m.shape[dim]))


def _pieces_name(ms: list[Meaning], names: Names) -> str | None:
    """What the axis that counts distinct pieces is called: heads, if each piece has the features of one head."""
    here = {a.name for m in ms for a in (*m.fields, *(u for unit in m.units for u, _ in unit))}
    if "d_h" not in here:
        return "unknown"
    for name in ("H", "H_kv"):
        if len(ms) == names.sizes.get(name) and not here & {"H", "H_kv", "G"}:
            return name
    return "unknown"


def _agreed(ms: list[Meaning], dim: int) -> list[Meaning]:
    """The pieces with unnamed atoms of one piece replaced by what the other pieces call that axis."""
    found = [m.with_fields(m.shape, dict(m.fields), m.units) for m in ms]
    for d in range(len(ms[0].shape)):
        if d == dim or ms[0].shape[d] < 2:
            continue
        model = next((m for m in found if m.along(d) and all(a.known for a in m.along(d))), None)
        if model is None:
            continue
        for m in found:
            unnamed = [a for a in m.along(d) if not a.known]
            if len(unnamed) == 1 and len(m.along(d)) == 1 and len(m.fields[unnamed[0]].dims) == 1:
                del m.fields[unnamed[0]]
                for atom in model.along(d):
                    if model.fields[atom].dims == (d,):
                        m.fields.setdefault(atom, model.fields[atom])
    return found
