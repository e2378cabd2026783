"""Which of a submission's weights are the queries', keys', values' and output's.

Nobody has to call a weight anything, or to lay it out in a given way. `assignments` lists the ways in which the tensors
that a module has can play the roles, the likeliest first; the first one with which the reference computes what the
module computes is taken (see `core.judge._oracle`). A role is a whole tensor in its own layout: a projection's rows, in
the order in which they lie there, are head 0's features, head 1's, and so on; a fused one may have its roles in blocks
or inside each head. Heads and features are never permuted to make things fit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product
from math import prod
from typing import Literal

import torch
from torch import Tensor

_MOST = 400  # assignments looked at: real modules have some dozens
_MOST_ROLES = 4  # a list of more tensors is one for each head, and none of them is a role alone

_HINTS = {
    "q": ("q", "query", "queries", "qs", "查询"),
    "k": ("k", "key", "keys", "ks", "键"),
    "v": ("v", "value", "values", "vs", "val", "值"),
    "o": ("o", "out", "output", "fc", "dense", "final", "proj", "projection", "输出"),
    "down": ("down", "latent", "dkv", "compress", "a"),
    "rope": ("rope", "kr", "rotary"),
}


@dataclass(frozen=True)
class Slot:
    """A role's weight in the reference: (heads · width, inner), or (outer, heads · width) for the one that `merges`."""

    role: str
    heads: int
    width: int
    other: int
    merges: bool = False

    @property
    def rows(self) -> int:
        return self.heads * self.width


@dataclass(frozen=True)
class Recipe:
    """How a role's weight is read from a module's tensors: from `source` (a name, or a pattern of names whose tensors
    are stacked), with axis `axis` as the one that meets the other side. `kind` is the part of its rows: "all"; a
    "block" that comes `after` those of other roles; the rows at `place` of `of` "inner" each head, or "last" in each
    feature, between those of the roles `after`. `rank` is the tensor's."""

    source: str
    axis: int
    kind: Literal["all", "block", "inner", "last"] = "all"
    after: tuple[str, ...] = ()
    place: int = 0
    of: int = 1
    rank: int = 2


Assignment = dict[str, Recipe]


@dataclass(frozen=True)
class Tensors:
    """A module's tensors by name, in the order in which it made them; `linear` are the weights of nn.Linear."""

    values: Mapping[str, Tensor]
    linear: frozenset[str] = frozenset()

    def sources(self) -> dict[str, tuple[str, ...]]:
        """Every tensor alone, and by a pattern every run of tensors of one size whose names differ in one number."""
        found: dict[str, tuple[str, ...]] = {name: (name,) for name in self.values}
        for name, value in self.values.items():
            for match in re.finditer(r"(?<![^.])\d+(?![^.])", name):
                pattern = name[: match.start()] + "*" + name[match.end() :]
                members = [
                    other
                    for other, tensor in self.values.items()
                    if re.fullmatch(re.escape(pattern).replace(r"\*", r"\d+"), other) and tensor.shape == value.shape
                ]
                if members:
                    found[pattern] = tuple(sorted(members, key=lambda n: [int(d) for d in re.findall(r"\d+", n)]))
        return found

    def read(self, source: str, names: Sequence[str]) -> Tensor:
        return torch.stack([self.values[name] for name in names]) if "*" in source else self.values[names[0]]


def assignments(tensors: Tensors, slots: Sequence[Slot], *, shared: bool = False) -> Iterator[Assignment]:
    """All ways to play the roles, the likeliest first; `shared` are those in which one weight has several roles."""
    sources = tensors.sources()
    order = {name: i for i, name in enumerate(sources)}
    options = [_recipes(slot, slots, tensors, sources) for slot in slots]
    found = []
    for chosen in islice(product(*options), _MOST * 100):
        if _clash(chosen, slots, sources, tensors) == shared and _consistent(chosen, slots):
            found.append((_likelihood(chosen, slots, order), len(found), chosen))
        if len(found) >= _MOST:
            break
    for _, _, chosen in sorted(found, key=lambda entry: (-entry[0], entry[1])):
        yield {slot.role: recipe for slot, recipe in zip(slots, chosen, strict=True)}


def take(
    assignment: Assignment, tensors: Tensors, slots: Sequence[Slot]
) -> dict[str, tuple[Tensor, Tensor | None]] | None:
    """The weight, and the bias if there is one, of every role; None where a tensor is missing or has another size."""
    sources = tensors.sources()
    found = {}
    for slot in slots:
        recipe = assignment[slot.role]
        names = sources.get(recipe.source)
        if names is None:
            return None
        weight = _weight(tensors.read(recipe.source, names), recipe, slot, slots)
        if weight is None:
            return None
        found[slot.role] = (weight, _bias(names, recipe, slot, slots, tensors, sources))
    return found


def uses_all(assignment: Assignment, tensors: Tensors) -> bool:
    """Whether every weight plays a role; biases and the like are not counted."""
    sources = tensors.sources()
    used = {name for recipe in assignment.values() for name in sources[recipe.source]}
    return all(name in used for name, tensor in tensors.values.items() if tensor.ndim > 1)


def _recipes(
    slot: Slot, slots: Sequence[Slot], tensors: Tensors, sources: Mapping[str, tuple[str, ...]]
) -> list[Recipe]:
    """Every way in which one of the tensors can be this role's weight."""
    found = []
    in_lists = {name for names in sources.values() if len(names) > _MOST_ROLES for name in names}
    for source, names in sources.items():
        shape = tensors.read(source, names).shape
        if len(shape) < 2 or source in in_lists or ("*" in source and len(names) == 1):
            continue
        for axis, size in enumerate(shape):
            if size != slot.other or (names[0] in tensors.linear and axis != len(shape) - (2 if slot.merges else 1)):
                continue
            rows = prod(shape) // size
            if rows == slot.rows:
                found.append(Recipe(source, axis, rank=len(shape)))
                continue
            if slot.merges:
                continue
            peers = [s for s in slots if not s.merges and s.other == slot.other and s is not slot]
            for n in range(len(peers) + 1):
                for others in combinations(peers, n):
                    if sum(s.rows for s in others) + slot.rows == rows:
                        found += _parts(source, axis, slot, others, len(shape))
    return list(dict.fromkeys(found))


def _parts(source: str, axis: int, slot: Slot, others: Sequence[Slot], rank: int) -> Iterator[Recipe]:
    for n in range(len(others) + 1):
        for before in combinations(others, n):
            yield Recipe(source, axis, "block", after=tuple(s.role for s in before), of=len(others) + 1, rank=rank)
    if all(s.rows == slot.rows for s in others) and slot.heads > 1:
        for place in range(len(others) + 1):
            peers = tuple(s.role for s in others)
            yield Recipe(source, axis, "inner", after=peers, place=place, of=len(others) + 1, rank=rank)
            yield Recipe(source, axis, "last", after=peers, place=place, of=len(others) + 1, rank=rank)


def _weight(tensor: Tensor, recipe: Recipe, slot: Slot, slots: Sequence[Slot]) -> Tensor | None:
    if tensor.ndim <= recipe.axis or tensor.shape[recipe.axis] != slot.other:
        return None
    rows = tensor.movedim(recipe.axis, -1).reshape(-1, slot.other)
    rows = _part(rows, recipe, slot, slots)
    if rows is None or rows.shape[0] != slot.rows:
        return None
    return rows.t() if slot.merges else rows


def _part(rows: Tensor, recipe: Recipe, slot: Slot, slots: Sequence[Slot]) -> Tensor | None:
    if recipe.kind == "all":
        return rows
    if recipe.kind == "block":
        start = sum(s.rows for s in slots if s.role in recipe.after)
        return rows[start : start + slot.rows]
    if rows.shape[0] != recipe.of * slot.rows:
        return None
    inner = (recipe.of, slot.width) if recipe.kind == "inner" else (slot.width, recipe.of)
    cut = rows.reshape(slot.heads, *inner, *rows.shape[1:])
    return cut.select(1 if recipe.kind == "inner" else 2, recipe.place).flatten(0, 1)


def _bias(
    names: tuple[str, ...], recipe: Recipe, slot: Slot, slots: Sequence[Slot], tensors: Tensors,
    sources: Mapping[str, tuple[str, ...]],
) -> Tensor | None:  # fmt: skip
    """The tensor that is called like the weight, with a bias's name, and has the size of its rows."""
    found = []
    for name in names:
        total = slot.other if slot.merges else tensors.values[name].numel() // slot.other
        others = [n for n, t in tensors.values.items() if t.numel() == total and n not in tensors.linear]
        alike = [n for n in others if n != name and n in _bias_names(name)]
        if not alike:
            return None
        found.append(tensors.values[alike[0]])
    bias = torch.stack(found) if len(found) > 1 else found[0]
    if slot.merges:
        return bias.reshape(-1) if len(found) == 1 else bias.sum(0).reshape(-1)
    rows = _part(bias.reshape(-1, 1), recipe, slot, slots)
    return None if rows is None else rows[:, 0]


def _bias_names(weight: str) -> set[str]:
    prefix, _, last = weight.rpartition(".")
    swaps = (("weight", "bias"), ("Weight", "Bias"), ("w", "b"), ("W", "b"), ("W", "B"), ("kernel", "bias"))
    made = {last.replace(a, b, 1) for a, b in swaps if a in last} | {f"{last}_bias", f"{last}_b"}
    return {f"{prefix}.{name}".removeprefix(".") for name in made}


def _clash(
    chosen: Sequence[Recipe], slots: Sequence[Slot], sources: Mapping[str, tuple[str, ...]], tensors: Tensors
) -> bool:
    """Whether two roles read the same rows."""
    taken: list[tuple[Recipe, Slot]] = []
    for recipe, slot in zip(chosen, slots, strict=True):
        for other, its in taken:
            if set(sources[recipe.source]) & set(sources[other.source]):
                same_tensor = recipe.source == other.source and recipe.axis == other.axis and not slot.merges
                if not same_tensor or recipe.kind != other.kind or recipe.kind == "all":
                    return True
                if recipe.kind == "block":
                    a, b = (sum(s.rows for s in slots if s.role in r.after) for r in (recipe, other))
                    if a < b + its.rows and b < a + slot.rows:
                        return True
                elif recipe.place == other.place:
                    return True
        taken.append((recipe, slot))
    return False


def _consistent(chosen: Sequence[Recipe], slots: Sequence[Slot]) -> bool:
    """Whether weights of one rank are read along one axis: nobody writes some as (in, out), some as (out, in)."""
    axes: dict[tuple[bool, int, int], set[int]] = {}
    source_of = {slot.role: recipe.source for recipe, slot in zip(chosen, slots, strict=True)}
    for recipe, slot in zip(chosen, slots, strict=True):
        if any(source_of[role] != recipe.source for role in recipe.after):
            return False
        if (
            recipe.of > 1 and list(source_of.values()).count(recipe.source) != recipe.of
        ):  # the rest would be used by none
            return False
        if not slot.merges:
            axes.setdefault(("*" in recipe.source, slot.other, recipe.rank), set()).add(recipe.axis)
    return all(len(found) == 1 for found in axes.values())


def _likelihood(chosen: Sequence[Recipe], slots: Sequence[Slot], order: Mapping[str, int]) -> float:
    """Names that say their role, roles in the order q, k, v, o, blocks rather than parts of heads."""
    score = 0.0
    places = []
    for recipe, slot in zip(chosen, slots, strict=True):
        if recipe.kind in ("all", "block"):
            score += 1
        if recipe.kind == "all":
            told = hinted(recipe.source)
            score += 4 * (slot.role in told) - 4 * bool(told and slot.role not in told)
        places.append((order[recipe.source], len(recipe.after), recipe.place))
    score += sum(a <= b for a, b in pairwise(places)) / 2
    return score


def hinted(name: str) -> set[str]:
    """The roles that a name speaks of."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    words = [w.lower() for w in words if w.lower() not in ("weight", "linear", "bias", "layer", "w", "to", "in")]
    told = set()
    for word in words:
        bare = word.removeprefix("w").removeprefix("to") if len(word) > 1 else word
        for role, known in _HINTS.items():
            if (
                word in known
                or bare in known
                or (len(word) == 2 and word[-1] == role and word[0] in "wlf")
                or (any(c >= "\u3400" for c in word) and any(h in word for h in known if h[0] >= "\u3400"))
                or (any(c >= "\u3400" for c in word) and word.endswith(role))
            ):
                told.add(role)
    return told - {"o"} if told & {"q", "k", "v"} else told
