"""Contractions: every one is an einsum, and an einsum says which axes are one and which are summed away."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.trace import _meaning as mean
from core.trace._axes import Atom, Names, is_length
from core.trace._combine import Meeting, combine, project
from core.trace._layout import argument
from core.trace._meaning import Meaning, Shape
from core.trace._ops import plain_name
from core.trace._record import Op

Labels = tuple[list[list[str]], list[str]]  # for each operand, for each axis its letter; and those of the result
Lines = dict[str, list[Atom]]  # the atoms of one operand by letter


@dataclass(slots=True)
class Evidence:
    """What the run does with the two axes of the scores, by which one tells queries from keys."""

    normalised: set[Atom] = field(default_factory=set)
    summed: set[Atom] = field(default_factory=set)
    origin: dict[Atom, tuple[int, Atom]] = field(default_factory=dict)  # twin -> (operation, first occurrence)


class Decides(Protocol):
    """Who says what the feature axes of weights are."""

    def told(self, m: Meaning) -> Meaning: ...
    def decide(self, feature: Atom, out: Meaning, index: int) -> object: ...
    def decide_together(self, features: list[Atom]) -> None: ...


def contraction(
    name: str, labels: Labels, ms: list[Meaning], shape: Shape, index: int, names: Names, features: Decides,
    how: Meeting, seen: Evidence,
) -> Meaning:  # fmt: skip
    if name not in ("baddbmm", "addmm", "addmv"):
        return contract(labels, _with_features(labels, ms, shape, index, names, features), shape, names, how, seen)
    operands, out = labels
    product = operands[1:], out
    made = contract(product, _with_features(product, ms[1:], shape, index, names, features), shape, names, how, seen)
    added = project(ms[0], [out.index(c) for c in operands[0]], shape)
    return combine([made, added], shape, names, Meeting())


def einsum_labels(op: Op) -> Labels | None:
    """A contraction written as an einsum, None where the operation is none."""
    shapes = [tuple(raw.shape) for raw in op.inputs]
    ranks = [len(s) for s in shapes]
    name = plain_name(op.op)
    match name:
        case "matmul" | "bmm" | "mm" | "mv" | "dot" | "inner" if len(ranks) >= 2:
            return _matmul(ranks[0], ranks[1])
        case "baddbmm" | "addmm" | "addmv" | "addbmm" if len(ranks) == 3 and name != "addbmm":
            (a, b), out = _matmul(ranks[1], ranks[2])
            return [out[len(out) - ranks[0] :], a, b], out
        case "linear" if len(ranks) >= 2:
            lead = [f"x{d}" for d in range(ranks[0] - 1)]
            out = [*lead, *(["n"] if ranks[1] == 2 else [])]
            return [[*lead, "k"], ["n", "k"] if ranks[1] == 2 else ["k"], *([["n"]] if len(ranks) > 2 else [])], out
        case "einsum" if isinstance(op.args[0], str):
            return _einsum(op.args[0], ranks)
        case "embedding" if len(ranks) >= 2:
            weight, ids = (0, 1) if op.op.startswith("aten::") else (1, 0)
            lead = [f"i{d}" for d in range(ranks[ids])]
            return [["v", "n"], lead] if weight == 0 else [lead, ["v", "n"]], [*lead, "n"]
        case "outer" | "ger":
            return [["a"], ["b"]], ["a", "b"]
        case "tensordot":
            return _tensordot(op, ranks)
    return None


def _matmul(a: int, b: int) -> Labels:
    lead = max(a, b, 2) - 2
    batch = [f"b{d}" for d in range(lead)]
    left = [*batch[lead - max(a - 2, 0) :], *(["m"] if a > 1 else []), "k"]
    right = [*batch[lead - max(b - 2, 0) :], "k", *(["n"] if b > 1 else [])]
    return [left, right], [*batch, *(["m"] if a > 1 else []), *(["n"] if b > 1 else [])]


def _einsum(equation: str, ranks: list[int]) -> Labels | None:
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(ranks):
        return None
    dots = max(
        [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True) if "..." in t], default=0
    )
    if not arrow:
        letters = sorted(c for c in set(given) if c.isalpha() and given.count(c) == 1)
        result = ("..." if "..." in given else "") + "".join(letters)

    def letters_of(term: str, many: int) -> list[str]:
        front, _, back = term.partition("...") if "..." in term else (term, "", "")
        middle = [f".{d}" for d in range(dots - many, dots)] if "..." in term else []
        return [*front, *middle, *back]

    operands = [letters_of(t, rank - len(t.replace("...", ""))) for t, rank in zip(terms, ranks, strict=True)]
    return operands, letters_of(result, dots)


def _tensordot(op: Op, ranks: list[int]) -> Labels:
    dims: Any = argument(op, 2, "dims", default=2)
    if isinstance(dims, int):
        dims = (tuple(range(ranks[0] - dims, ranks[0])), tuple(range(dims)))
    left, right = [f"l{d}" for d in range(ranks[0])], [f"r{d}" for d in range(ranks[1])]
    for i, (a, b) in enumerate(zip(*dims, strict=True)):
        left[a % ranks[0]] = right[b % ranks[1]] = f"k{i}"
    return [left, right], [c for c in left + right if not c.startswith("k")]


def contract(
    labels: Labels, ms: Sequence[Meaning], shape: Shape, names: Names, how: Meeting, seen: Evidence
) -> Meaning:
    """An einsum: letters of the result lie over each other, letters of no result are summed over."""
    operands, out = labels
    ms = [_diagonal(m, letters) for m, letters in zip(ms, operands, strict=False)]
    operands = [list(dict.fromkeys(letters)) for letters in operands]
    _meet_inside(ms, operands, out, names, seen)
    laid = []
    for m, letters in zip(ms, operands, strict=False):
        laid.append(project(m, [out.index(c) if c in out else None for c in letters], shape))
    return combine(laid, shape, names, how)


def _with_features(
    labels: Labels, ms: list[Meaning], shape: Shape, index: int, names: Names, features: Decides
) -> list[Meaning]:
    """The operands with the unnamed axes of a weight, that meet named activations and survive, told apart."""
    operands, out = labels
    ms = [features.told(m) for m in ms]
    for k, (m, letters) in enumerate(zip(ms, operands, strict=False)):
        others = [(o, at) for j, (o, at) in enumerate(zip(ms, operands, strict=False)) if j != k]
        if any(map(_declared, m.fields)) or not any(_declared(a) for o, _ in others for a in _all_atoms(o)):
            continue
        met = {c for o, at in others for d, c in enumerate(at) if any(a.known for a in o.along(d))}
        own = [d for d, c in enumerate(letters) if c in out and c not in met]
        m = ms[k] = _with_single(m, own)
        unnamed = list(dict.fromkeys(a for d in own for a in m.known_along(d)))
        if len(unnamed) == 1:
            last = max(k + 1, 2)  # a bias has nothing to add
            laid = contract((operands[:last], out), ms[:last], shape, names, Meeting(strict=True), Evidence())
            features.decide(unnamed[0], laid, index)
        elif unnamed:
            features.decide_together(unnamed)
        ms[k] = features.told(m)
    _name_heads(ms, operands, out, names)
    return ms


def _with_single(m: Meaning, dims: list[int]) -> Meaning:
    """A weight with an unnamed atom in each of `dims` that has size 1: a head may be the only one."""
    single = [d for d in dims if m.shape[d] == 1 and not m.units[d]]
    if not single or len(dims) < 2:
        return m
    units = tuple(((Atom(None, 1), 1),) if d in single else u for d, u in enumerate(m.units))
    return m.with_fields(m.shape, m.fields, units)


def _all_atoms(m: Meaning) -> list[Atom]:
    return [*m.fields, *(atom for units in m.units for atom, _ in units)]


def _declared(atom: Atom) -> bool:
    return atom.known and not atom.alias


def _name_heads(ms: list[Meaning], operands: list[list[str]], out: list[str], names: Names) -> None:
    """Feature axes of equal width, told apart by their part in the scores.

    Where queries meet keys, what is kept for both is the heads and what is summed over is a head's features;
    where weights meet values, what only the values bring is a head's features.
    """
    lines = [{c: m.known_along(d) for d, c in enumerate(letters)} for m, letters in zip(ms, operands, strict=False)]
    for i, one in enumerate(lines):
        for other in lines[i + 1 :]:
            _name_heads_of_two(one, other, out, names)


def _name_heads_of_two(one: Lines, two: Lines, out: list[str], names: Names) -> None:
    def length(line: Lines, c: str) -> bool:
        atoms = [r for a in line.get(c, ()) for r in a.resolved()]
        return bool(atoms) and all(a.name is not None and is_length(a.name) for a in atoms)

    def own(line: Lines, other: Lines) -> bool:
        return any(c in out and c not in other and length(line, c) for c in line)

    scores = own(one, two) and own(two, one)
    values = any(length(one, c) and length(two, c) for c in one if c in two and c not in out)
    for line, other in ((one, two), (two, one)):
        for c, atoms in line.items():
            if len(atoms) != 1 or atoms[0].parts or atoms[0].alias or not atoms[0].feature:
                continue
            shared = c in other
            if (scores and shared and c not in out) or (values and not shared):
                _call(atoms[0], ("d_h",), names)
            elif (scores or values) and shared and c in out:
                _call(atoms[0], ("H", "H_kv"), names)


def _call(atom: Atom, possible: tuple[str, ...], names: Names) -> None:
    name = next((n for n in possible if names.sizes.get(n) == atom.size), None)
    if name is not None:
        atom.alias = names.factors(name, atom.size)


def _diagonal(m: Meaning, letters: list[str]) -> Meaning:
    """An operand in which a letter stands twice, read along its diagonal: nothing is known of it."""
    if len(set(letters)) == len(letters):
        return m
    first = [letters.index(c) for c in dict.fromkeys(letters)]
    return mean.fresh(tuple(m.shape[d] for d in first))


def _meet_inside(
    ms: Sequence[Meaning], operands: list[list[str]], out: list[str], names: Names, seen: Evidence
) -> None:
    """Letters that are summed over: unnamed axes (of weights) are what they are multiplied with."""
    for letter in {c for letters in operands for c in letters if c not in out}:
        here = [(m, letters.index(letter)) for m, letters in zip(ms, operands, strict=False) if letter in letters]
        for m, at in here:
            atoms = sources(m, at)
            others = {a.root for o, d in here if o is not m for a in sources(o, d)}
            seen.summed.update(a for a in atoms if a.root in others)
        learn(here, names)


def sources(m: Meaning, dim: int) -> set[Atom]:
    return {source for atom in m.known_along(dim) for source in atom.sources()}


def learn(here: list[tuple[Meaning, int]], names: Names) -> None:
    """Let axes that are multiplied and summed over name each other."""
    if len(here) < 2 or all(a.known for m, at in here for a in m.along(at)):
        return
    lines = [project(m, [0 if d == at else None for d in range(len(m.shape))], (m.shape[at],)) for m, at in here]
    if all(line.shape == lines[0].shape for line in lines):
        combine(lines, lines[0].shape, names, Meeting())
