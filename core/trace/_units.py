"""Axes of size 1 through a reshape.

They hold no data, so no index can prove where they go; but they have a place in the reading order, and names are
carried along by it. Where a new shape has fewer such places, the atom joins the neighbour it belongs to.
"""

import math

from core.trace._axes import Atom, Names
from core.trace._meaning import Meaning, Shape, Units, reshape_fields


def reshape(m: Meaning, shape: Shape, names: Names) -> Meaning:
    """`m` in reading order under a new shape."""
    if m.shape == shape:
        return m
    return m.with_fields(shape, reshape_fields(m, shape), _units(m, shape, names))


def _units(m: Meaning, shape: Shape, names: Names) -> tuple[Units, ...]:
    placed: list[list[tuple[Atom, int]]] = [[] for _ in shape]
    waiting: dict[int, list[Atom]] = {}  # stride in reading order -> atoms there, the slowest first
    for dim, units in enumerate(m.units):
        outer = math.prod(m.shape[dim + 1 :])
        for atom, weight in units:
            waiting.setdefault(weight * outer, []).append(atom)
    if not waiting:
        return tuple(() for _ in shape)
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    order = _reading_order(m)
    lost: list[tuple[Atom, list[int], tuple[int, int] | None]] = []
    for stride, atoms in waiting.items():
        free = [d for d, n in enumerate(shape) if n == 1 and strides[d] == stride]
        slower = next((a.name for s, a in reversed(order) if s >= stride), None)
        faster = next((a.name for s, a in order if s < stride), None)
        right, left = _join(shape, strides, stride, faster=True), _join(shape, strides, stride, faster=False)
        while len(atoms) > len(free) and right is not None and _belongs(names, atoms[-1].name, faster):
            faster = atoms[-1].name
            placed[right[0]].insert(0, (atoms.pop(), right[1]))
        while len(atoms) > len(free) and left is not None and _belongs(names, slower, atoms[0].name):
            slower = atoms[0].name
            placed[left[0]].append((atoms.pop(0), left[1]))
        for atom, d in zip(atoms, free, strict=False):
            placed[d].append((atom, 1))
        lost += [(atom, free, left if right is None or (atom.name == "L" and slower == "B") else right)
                 for atom in atoms[len(free) :]]  # fmt: skip
    # Where an axis of size 1 stands makes no difference to any element: one that lost its place takes a free one.
    empty = [d for d, n in enumerate(shape) if n == 1 and not placed[d]]
    for atom, same, neighbour in lost:
        if empty:
            placed[empty.pop(0)].append((atom, 1))
        elif same:
            placed[same[-1]].append((atom, 1))
        elif neighbour is not None:
            placed[neighbour[0]].append((atom, neighbour[1]))
    return tuple(tuple(units) for units in placed)


def _belongs(names: Names, major: str | None, minor: str | None) -> bool:
    return names.belong(major, minor) or (major is not None and major == minor)


def _reading_order(m: Meaning) -> list[tuple[int, Atom]]:
    """The atoms that lie along one axis, with their strides in reading order, the slowest first."""
    found = []
    for atom, at in m.fields.items():
        if len(at.dims) == 1:
            change = int((at.values[1:] != at.values[:-1]).argmax()) + 1
            found.append((change * math.prod(m.shape[at.dims[0] + 1 :]), atom))
    return sorted(found, key=lambda entry: -entry[0])


def _join(shape: Shape, strides: list[int], stride: int, *, faster: bool) -> tuple[int, int] | None:
    """The axis that a lost axis of this stride falls to, on its faster or slower side, and its stride in there."""
    for dim, (n, own) in enumerate(zip(shape, strides, strict=True)):
        inside = own < stride <= own * n if faster else own <= stride < own * n
        if n > 1 and inside and stride % own == 0:
            return dim, stride // own
    return None
