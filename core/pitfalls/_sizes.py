"""The sizes that mistakes are tried on. Imports no torch."""

from collections.abc import Mapping

from core.errors import BadInput
from core.pitfalls._references import Reference

SIZES: dict[str, int] = {
    "B": 4, "L": 5, "Lk": 7, "H": 6, "H_kv": 3, "d_h": 8, "window": 3, "block_size": 3, "d_latent": 12, "d_rope": 10,
}  # fmt: skip
"""The generic sizes: all that meet in one reference differ, so that axes which are taken for one another show.

With a cache, L is `CACHED_L` tokens, which come in chunks (see `chunks`). Where keys are not of the queries' own tokens
there are Lk of them. d_model is H * d_h unless it is given, and Bk, the batch of a context, is B.
"""
CACHED_L = 13


def sizes_of(reference: Reference, given: Mapping[str, int]) -> dict[str, int]:
    """All sizes of a run of `reference`: the generic ones, or what is given. Raises BadInput for an unknown name."""
    others = ("d_model", "Bk")
    unknown = given.keys() - SIZES.keys() - set(others)
    if unknown:
        raise BadInput("pitfalls.unknown-size", name=", ".join(sorted(unknown)), known=", ".join([*SIZES, *others]))
    sizes = SIZES | ({"L": CACHED_L} if reference.cached else {}) | dict(given)
    if reference.takes == ("x",):
        sizes["Lk"] = sizes["L"]
    sizes.setdefault("d_model", sizes["H"] * sizes["d_h"])
    sizes.setdefault("Bk", sizes["B"])
    return sizes


def chunks(L: int) -> tuple[int, ...]:
    """How many tokens each call is given, of L in all: some to begin with, some more, and one alone; 13 are 5 + 7 + 1.

    L = 1 is one call, L = 2 are two of one token.
    """
    first = max(1, L * 2 // 5)
    return tuple(size for size in (first, L - first - 1, 1) if size > 0) if L > 1 else (L,)
