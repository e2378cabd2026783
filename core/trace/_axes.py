"""The meaning of an axis as a value, and the atoms that meanings are made of."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import BadInput

ROLES = {3: "qkv", 2: "kv"}  # the axis of a fused projection that says which of q, k, v a feature is for


@dataclass(frozen=True, slots=True)
class Axis:
    """What one axis of a tensor means.

    `parts` are the meanings it is made of, the slowest varying first: ``("L",)``, ``("H", "d_h")``. `mixed` says
    that they cannot be told apart along this axis: some meaning changes along another axis too, or two operands
    that met here meant different things. A new axis of size 1 has no parts and reads ``1``; an axis that nobody
    can name has the part ``unknown``.
    """

    parts: tuple[str, ...]
    mixed: bool = False

    def __str__(self) -> str:
        name = "·".join(self.parts) or "1"
        return f"{name} mixed" if self.mixed else name

    @property
    def known(self) -> bool:
        """Whether every part has a name."""
        return "unknown" not in self.parts


UNKNOWN = Axis(("unknown",))


class Atom:
    """A coordinate that elements carry through layout operations; told apart by identity.

    `name` is None while nobody can name it; `alias` then holds the atoms it turned out to be. `parts` are the
    names of an atom that stands for several meanings which can no longer be told apart (`mixed`).
    """

    __slots__ = ("_root", "alias", "feature", "mixed", "name", "of", "parts", "size", "weak")

    def __init__(
        self,
        name: str | None,
        size: int,
        *,
        parts: tuple[str, ...] = (),
        mixed: bool = False,
        weak: bool = False,
        of: "tuple[Atom, ...]" = (),
    ) -> None:
        self.name = name
        self.size = size
        self.parts = parts or ((name,) if name else ())
        self.mixed = mixed
        self.of = of  # what a mixed atom was made of
        self.weak = weak  # a name that gives way to any other: copies
        self.alias: tuple[Atom, ...] | None = None
        self.feature = False  # made by a weight, so neither a batch nor a length
        self._root: Atom | None = None

    @property
    def root(self) -> "Atom":
        """The atom that this one is a second occurrence of, or itself."""
        return self._root or self

    def sources(self) -> "tuple[Atom, ...]":
        """The atom, and those that were mixed into it."""
        return (self, *(source for atom in self.of for source in atom.sources()))

    def resolved(self) -> "tuple[Atom, ...]":
        """The named atoms that this one stands for, or itself."""
        if self.alias is None:
            return (self,)
        return tuple(named for atom in self.alias for named in atom.resolved())

    @property
    def known(self) -> bool:
        if self.alias is None:
            return bool(self.parts) and not self.weak
        return all(atom.parts and not atom.weak for atom in self.resolved())

    def __repr__(self) -> str:
        return f"<{self.name or '?'} {self.size}>"


class Names:
    """The names of one trace: declared sizes, one atom for each name and size, and what follows from them.

    H, H_kv and G are tied: where H and H_kv are known and differ, H is H_kv·G (consecutive query heads share a
    key/value head) and every H is kept as those two, so that ``repeat`` and ``repeat_interleave`` differ. d_h is
    d_model / H where it is not given.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = dict(sizes)
        self._atoms: dict[tuple[str, int], Atom] = {}
        self._twins: dict[Atom, Atom] = {}

    def learn(self, name: str, size: int) -> None:
        self.sizes.setdefault(name, size)

    def derive(self) -> None:
        """Draw the conclusions once all declared sizes are in."""
        s = self.sizes
        if s.get("H_kv") == s.get("H"):
            s.pop("H_kv", None)  # then it is plain multi-head attention, and every head is an H
        heads, kv = s.get("H"), s.get("H_kv")
        if heads and kv and heads % kv == 0:
            s["G"] = heads // kv
        elif kv and "G" in s and not heads:
            s["H"] = kv * s["G"]
        if s.get("H") and "d_h" not in s and s.get("d_model") and s["d_model"] % s["H"] == 0:
            s["d_h"] = s["d_model"] // s["H"]

    @property
    def grouped(self) -> bool:
        return {"H", "H_kv", "G"} <= self.sizes.keys()

    def atom(self, name: str, size: int) -> Atom:
        return self._atoms.setdefault((name, size), Atom(name, size))

    def factors(self, name: str, size: int) -> tuple[Atom, ...]:
        """The atoms of one declared name: itself, or H_kv and G for H."""
        if name == "H" and self.grouped and size == self.sizes["H"]:
            return self.atom("H_kv", self.sizes["H_kv"]), self.atom("G", self.sizes["G"])
        return (self.atom(name, size),)

    def twin(self, atom: Atom) -> Atom:
        """The atom of a second axis that means the same: L meets itself in the scores as Lk, the keys."""
        if atom not in self._twins:
            other = Atom(second(atom.name), atom.size, mixed=atom.mixed, weak=atom.weak)
            other.parts = tuple(second(p) or "unknown" for p in atom.parts) if atom.parts else ()
            other._root = atom.root
            other.feature = atom.feature
            self._twins[atom] = other
        return self._twins[atom]

    def is_feature(self, name: str) -> bool:
        """Whether a name is one of features (d_model, d_h, …), not of a batch, a length or heads."""
        return not is_length(name) and name.rstrip("′") not in ("B", "H", "H_kv", "G", "unknown")

    def copies(self, size: int) -> Atom:
        return Atom(f"×{size}", size, weak=True)

    def belong(self, major: str | None, minor: str | None) -> bool:
        """Whether two meanings side by side are factors of one declared axis."""
        return (major, minor) in _FACTORS


_FACTORS = frozenset(
    (("H", "d_h"), ("H_kv", "d_h"), ("H_kv", "G"), ("G", "d_h"), ("B", "H"), ("B", "H_kv"), ("H", "B"), ("G", "B"))
)


def is_length(name: str) -> bool:
    return name.startswith("L")


def second(name: str | None) -> str | None:
    """The name of a second axis with the meaning of a first one."""
    if name is None:
        return None
    return "Lk" if name in ("L", "Lq") else f"{name}′"


def joined(names: list[str]) -> tuple[str, ...]:
    """Names in order, with H_kv·G read as the H it is."""
    found: list[str] = []
    for name in names:
        if name == "G" and found and found[-1] == "H_kv":
            found[-1] = "H"
        else:
            found.append(name)
    return tuple(found)


Spec = tuple[tuple[str, ...], ...]  # for each axis its factors; () for a new axis of size 1


def parse(text: str, shape: tuple[int, ...], name: str) -> Spec:
    """``"B L H·d_h"`` -> ``(("B",), ("L",), ("H", "d_h"))``; ``1`` is an axis without meaning, ``?`` an unknown one."""
    spec = tuple(tuple(token.replace("*", "·").split("·")) if token != "1" else () for token in text.split())
    if len(spec) != len(shape) or any(not all(factors) for factors in spec):
        raise BadInput("trace.axes-do-not-fit", name=name, axes=text, shape=tuple(shape), rank=len(shape))
    return spec


def factor_sizes(factors: tuple[str, ...], size: int, sizes: Mapping[str, int], name: str) -> list[int]:
    """The sizes of the parts of one axis; one that is not given follows from the others."""
    if len(factors) <= 1:
        return [size] * len(factors)
    found = [sizes.get(factor) for factor in factors]
    if found.count(None) == 1:
        found[found.index(None)] = size // math.prod(n for n in found if n)
    known = [n for n in found if n]
    if len(known) < len(factors) or math.prod(known) != size:
        raise BadInput("trace.axis-sizes-differ", name=name, axis="·".join(factors), size=size, sizes=found)
    return known
