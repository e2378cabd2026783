"""Axes that weights make: which of their features are heads, and which is whose.

The output features of a projection mean nothing by themselves; a model gives them meaning by the way it splits
them, and trained weights fix it: head h owns rows h·d_h …. So the declared widths say what a feature axis can be
(H·d_h, H_kv·d_h, d_model, three roles of either, role first or head first), and of these the one is taken that
the following layout operations split cleanly. Where none is, the first stays, and the split shows as mixed.
"""

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from core.trace._axes import ROLES, Atom, Names
from core.trace._compute import POINTWISE
from core.trace._contract import einsum_labels
from core.trace._layout import follows, layout
from core.trace._meaning import Field, Ints, Meaning, Units, complete, compressed
from core.trace._ops import plain_name, words
from core.trace._record import Op

_HORIZON = 32  # operations that one feature axis is followed through


@dataclass(slots=True)
class Factoring:
    """What a feature axis can be: for each atom its coordinate by feature, and atoms of size 1 with their strides."""

    atoms: dict[Atom, Ints]
    units: Units
    role: Atom | None = None

    def applied(self, m: Meaning, feature: Atom) -> Meaning:
        """`m` with the field of `feature` replaced by those of its factors."""
        if feature not in m.fields:
            return m
        at = m.fields[feature]
        fields = {a: f for a, f in m.fields.items() if a is not feature}
        for atom, values in self.atoms.items():
            new = compressed(at.dims, values[at.values])
            if not (new.values < 0).all():
                fields[atom] = new
        units = list(m.units)
        if len(at.dims) == 1 and self.units:
            (dim,) = at.dims
            left = [a for a in self.atoms if a in fields and dim in fields[a].dims]
            if all(complete(fields[a], a) for a in left):
                units[dim] = (*units[dim], *((a, min(weight, m.shape[dim])) for a, weight in self.units))
        return m.with_fields(m.shape, fields, tuple(units))


def factorings(size: int, names: Names) -> Iterator[Factoring]:
    """All that `size` features can be, the plainest first."""
    s = names.sizes
    widths = [n for n in s if names.is_feature(n) and n != "d_h"]
    heads = [["H_kv", "d_h"]] if "H_kv" in s else []
    heads += [["H", "d_h"]] if "H" in s else []
    flat = [[n] for n in widths] + heads + [["d_h"]]
    for factors in flat:
        yield from _product(factors, size, names)
    yield from _grouped(size, names)
    for count, role in ROLES.items():
        if size % count:
            continue
        atom = names.atom(role, count)
        for factors in flat:
            yield from _product([role, *factors], size, names, atom)
        for one, other in heads:
            yield from _product([one, role, other], size, names, atom)
            yield from _product([one, other, role], size, names, atom)


def _product(factors: list[str], size: int, names: Names, role: Atom | None = None) -> Iterator[Factoring]:
    sizes = {**names.sizes, **({role.name: role.size} if role and role.name else {})}
    if not all(f in sizes for f in factors) or math.prod(sizes[f] for f in factors) != size:
        return
    atoms = [role if role and f == role.name else a for f in factors for a in _of(f, sizes[f], role, names)]
    yield _factoring([a for a in atoms if a], size, role)


def _of(name: str, size: int, role: Atom | None, names: Names) -> tuple[Atom, ...]:
    return (role,) if role and name == role.name else names.factors(name, size)


def _factoring(atoms: list[Atom], size: int, role: Atom | None) -> Factoring:
    fields: dict[Atom, Ints] = {}
    units: list[tuple[Atom, int]] = []
    weight = size
    for atom in atoms:
        weight //= atom.size
        if atom.size == 1:
            units.append((atom, weight))
        else:
            fields[atom] = np.arange(size) // weight % atom.size
    return Factoring(fields, tuple(units), role)


def _grouped(size: int, names: Names) -> Iterator[Factoring]:
    """A fused projection with fewer key/value heads: q's rows, then k's, then v's; or group by group."""
    s = names.sizes
    if not names.grouped or "d_h" not in s or size != (s["H"] + 2 * s["H_kv"]) * s["d_h"]:
        return
    kv, group, d_h = s["H_kv"], s["G"], s["d_h"]
    role, a, g, d = names.atom("qkv", 3), names.atom("H_kv", kv), names.atom("G", group), names.atom("d_h", d_h)
    row, column = np.divmod(np.arange(size), d_h)
    query = row < kv * group
    after = row - kv * group
    blocked = {
        role: np.where(query, 0, 1 + after // kv),
        a: np.where(query, row // group, after % kv),
        g: np.where(query, row % group, -1),
        d: column,
    }
    slot = row % (group + 2)
    by_group = {
        role: np.maximum(slot - group + 1, 0),
        a: row // (group + 2),
        g: np.where(slot < group, slot, -1),
        d: column,
    }
    for fields in (blocked, by_group):
        units = ((a, size),) if kv == 1 else ()
        yield Factoring({atom: v for atom, v in fields.items() if atom.size > 1}, units, role)


# A norm ends a projection's own features: what follows is the stream of the whole model.
_STREAM = words("layer_norm native_layer_norm rms_norm _fused_rms_norm group_norm batch_norm")


class Consumers:
    """Which operations take which tensor, for looking ahead."""

    def __init__(self, ops: list[Op]) -> None:
        self.ops = ops
        self._by: dict[tuple, list[int]] = {}
        for i, op in enumerate(ops):
            for raw in op.inputs:
                self._by.setdefault(raw.key, []).append(i)

    def following(self, index: int) -> list[tuple[int, bool]]:
        """The operations that the first output of `index` goes through, and whether each hands it on unharmed."""
        found: list[tuple[int, bool]] = []
        known = {raw.key for raw in self.ops[index].outputs[:1]}
        waiting = [i for key in known for i in self._by.get(key, ()) if i > index]
        heapq.heapify(waiting)
        seen: set[int] = set()
        while waiting and len(found) < _HORIZON:
            i = heapq.heappop(waiting)
            if i in seen:
                continue
            seen.add(i)
            op = self.ops[i]
            onward = op.error is None and _hands_on(op)
            found.append((i, onward))
            if onward:
                for raw in op.outputs:
                    known.add(raw.key)
                    for j in self._by.get(raw.key, ()):
                        if j > i:
                            heapq.heappush(waiting, j)
        return found


def _hands_on(op: Op) -> bool:
    name = plain_name(op.op)
    if name in _STREAM:
        return False
    if name in POINTWISE or name.removesuffix("_") in POINTWISE:
        return bool(
            op.inputs and op.outputs and max(op.inputs, key=lambda r: len(r.shape)).shape == op.outputs[0].shape
        )
    return follows(name)


class Features:
    """Decides what feature axes are, once for each, and remembers what it decided for the same use."""

    def __init__(self, ops: list[Op], names: Names) -> None:
        self.names = names
        self.consumers = Consumers(ops)
        self.decided: dict[Atom, Factoring | None] = {}
        self._same: dict[tuple, int | None] = {}

    def told(self, m: Meaning) -> Meaning:
        """`m` with every feature axis that has been decided in its factors."""
        for atom in list(m.fields):
            chosen = self.decided.get(atom)
            if chosen is not None:
                m = chosen.applied(m, atom)
        if any(atom in self.decided for units in m.units for atom, _ in units):
            units = tuple(tuple((named, w) for atom, w in u for named in atom.resolved()) for u in m.units)
            m = m.with_fields(m.shape, m.fields, units)
        return m

    def decide(self, feature: Atom, out: Meaning, index: int) -> Factoring | None:
        """What the unnamed `feature` axis of `out`, made by operation `index`, is; None if nobody can say."""
        if feature not in self.decided:
            options = list(factorings(feature.size, self.names))
            follow = self.consumers.following(index)
            ops = self.consumers.ops
            dims = out.fields[feature].dims if feature in out.fields else ()
            use = (feature.size, out.shape, dims, tuple(_signature(ops[i], onward, out) for i, onward in follow))
            if use not in self._same:
                self._same[use] = self._best(options, feature, out, index, follow)
            chosen = self._same[use]
            self.decided[feature] = None if chosen is None else options[chosen]
            if chosen is not None:
                atoms = [*options[chosen].atoms, *(a for a, _ in options[chosen].units)]
                if math.prod(a.size for a in atoms) == feature.size:
                    feature.alias = tuple(atoms) if not options[chosen].units else _in_order(options[chosen])
                else:
                    feature.parts = ("qkv", "H", "d_h")
        return self.decided[feature]

    def decide_together(self, features: list[Atom]) -> None:
        """Several feature axes of one weight: heads and a head's features, in what order the sizes allow.

        Where they allow several, an axis that is the same in all is decided, the others are left to their use.
        """
        s = self.names.sizes
        heads = [n for n in ("H", "H_kv") if n in s]
        sets = (
            [("d_h", n) for n in heads]
            if len(features) == 2
            else [(r, "d_h", n) for r in ROLES.values() for n in heads]
        )
        sizes = {**s, **{name: count for count, name in ROLES.items()}}
        fitting = {
            order
            for names in sets
            for order in itertools.permutations(names)
            if len(order) == len(features) and all(sizes.get(n) == f.size for n, f in zip(order, features, strict=True))
        }
        for at, feature in enumerate(features):
            feature.feature = True
            possible = {order[at] for order in fitting}
            if feature in self.decided or len(possible) != 1:
                continue
            (name,) = possible
            role = self.names.atom(name, feature.size) if name in ROLES.values() else None
            option = _factoring([role] if role else list(self.names.factors(name, feature.size)), feature.size, role)
            self.decided[feature] = option
            feature.alias = _in_order(option)

    def _best(
        self, options: list[Factoring], feature: Atom, out: Meaning, index: int, follow: list[tuple[int, bool]]
    ) -> int | None:
        if not options:
            return None
        costs = [self._cost(option, feature, out, index, follow) for option in options]
        least = min(costs)
        best = [i for i, cost in enumerate(costs) if cost == least]
        # Split, and nothing fits: then it is heads that were split wrongly, if it can be heads.
        heads = [i for i in best if least and len(options[i].atoms) > 1]
        return (heads or best)[0]

    def _cost(
        self, option: Factoring, feature: Atom, out: Meaning, index: int, follow: list[tuple[int, bool]]
    ) -> float:
        """How badly the uses of a feature axis fit one reading of it: 0 where every split is clean."""
        ops = self.consumers.ops
        first = option.applied(out, feature)
        known: dict[tuple, Meaning] = {ops[index].outputs[0].key: first}
        mine = {*option.atoms, *(a for a, _ in option.units)}
        cost = _unclean(first, mine)
        ends = set() if follow else {ops[index].outputs[0].key}
        used: list[tuple[Meaning, bool]] = []  # ends, and whether what follows sums over a head's features
        for i, onward in follow:
            op = ops[i]
            inputs = [raw for raw in op.inputs if raw.key in known]
            if not onward or not inputs:
                ends.update(raw.key for raw in inputs)
                used += _uses(op, known, option)
                continue
            bare = [known.get(raw.key) or Meaning(tuple(raw.shape), {}, ((),) * len(raw.shape)) for raw in op.inputs]
            m = known[inputs[0].key]
            layouts = follows(plain_name(op.op))
            made = layout(op, bare, self.names) if layouts else [m]
            wrong = layouts and plain_name(op.op) not in _JOINS and op.inputs[0].key not in known
            if wrong or made is None or len(made) != len(op.outputs):
                ends.add(inputs[0].key)
                continue
            for raw, new in zip(op.outputs, made, strict=True):
                known[raw.key] = new
                cost += _unclean(new, mine) + _nameless(m, new, op)
        if option.role is not None:
            cost += sum(_varies(known[key], option.role) for key in ends)
        return cost + _inconsistent(used, option)


_JOINS = frozenset(("cat", "stack"))


def _uses(op: Op, known: dict[tuple, Meaning], option: Factoring) -> list[tuple[Meaning, bool]]:
    """For each operand that we follow: whether the operation sums over its features (q, k) or keeps them (v)."""
    atoms = [*option.atoms]
    labels = einsum_labels(op)
    found = []
    for k, raw in enumerate(op.inputs):
        m = known.get(raw.key)
        if m is None or not atoms:
            continue
        if plain_name(op.op) == "scaled_dot_product_attention":
            found.append((m, k < 2))
        elif labels is not None and k < len(labels[0]):
            letters = [c for d, c in enumerate(labels[0][k]) if atoms[-1] in m.along(d)]
            if letters:
                found.append((m, letters[-1] not in labels[1]))
    return found


def _inconsistent(used: list[tuple[Meaning, bool]], option: Factoring) -> int:
    """How many uses contradict a reading: queries and keys are summed over their features, values are not.

    Positions picked out of heads are used alike; positions picked out of roles are not.
    """
    if option.role is not None:
        last = option.role.size - 1
        roles = [(m.fields[option.role], sums) for m, sums in used if option.role in m.fields]
        return sum(not at.dims and sums == (int(at.values) == last) for at, sums in roles)
    picked = [sums for m, sums in used if any(a in m.fields and not m.fields[a].dims for a in option.atoms)]
    return len(set(picked)) - 1 if picked else 0


def _in_order(option: Factoring) -> tuple[Atom, ...]:
    """The factors, those of size 1 at their places."""
    at = [(int((np.diff(v) != 0).argmax()) + 1, 1, a) for a, v in option.atoms.items()]
    at += [(w, 0, a) for a, w in option.units]
    return tuple(a for _, _, a in sorted(at, key=lambda e: (-e[0], e[1])))


def _signature(op: Op, onward: bool, out: Meaning) -> tuple:
    return plain_name(op.op), repr(op.args) if onward else "", tuple(raw.shape for raw in op.outputs), onward


def _unclean(m: Meaning, atoms: Iterable[Atom]) -> float:
    """The share of atoms that change along several axes; half as bad is one that was cut."""
    here = [a for a in atoms if a in m.fields and m.fields[a].dims]
    mixed = sum(len(m.fields[a].dims) > 1 for a in here)
    cut = sum(not complete(m.fields[a], a) for a in here)
    return (mixed + cut / 2) / len(here) if here else 0.0


def _nameless(before: Meaning, after: Meaning, op: Op) -> int:
    """How many axes of size 1 a reshape made out of nothing."""
    if plain_name(op.op) not in ("view", "reshape", "unflatten", "_unsafe_view"):
        return 0
    count = [sum(n == 1 and not u for n, u in zip(m.shape, m.units, strict=True)) for m in (before, after)]
    return max(count[1] - count[0], 0)


def _varies(m: Meaning, atom: Atom) -> int:
    return int(bool(m.fields.get(atom, _NONE).dims))


_NONE = Field((), np.zeros((), np.int64))
