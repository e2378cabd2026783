"""What submissions are tried on: sizes that all differ, and those at the edge; inputs and masks, drawn anew
for every verdict so that nobody can know them beforehand."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from core.pitfalls import Reference

Sizes = dict[str, int]

# In each of these, axes that could be taken for one another have different sizes.
_GENERIC = {
    "B": 4, "L": 5, "Lk": 7, "H": 6, "H_kv": 3, "d_h": 8, "window": 3, "block_size": 3, "d_latent": 12, "d_rope": 10,
}  # fmt: skip
# fmt: off
_OTHERS: dict[str, dict[str, int]] = {
    "other sizes": {
        "B": 3, "L": 9, "Lk": 4, "H": 8, "H_kv": 2, "d_h": 6, "window": 4, "block_size": 2, "d_latent": 10, "d_rope": 4,
    },
    "B = 1": {"B": 1},
    "L = 1": {"L": 1},
    "H = 1": {"H": 1, "H_kv": 1},
    "H_kv = 1": {"H_kv": 1},
    "H_kv = H": {"H_kv": 6},
    "window ≥ L": {"window": 8},
    "block_size ≥ Lk": {"block_size": 10},
    "d_h = L": {"L": 8},
}
# fmt: on
CACHED_L = 13
CHUNKS = ((5, 7, 1), (1,) * 6, (2, 1, 3), (20, 30))


def generic(**changes: int) -> Sizes:
    sizes = {**_GENERIC, **changes}
    return {**sizes, "d_model": sizes["H"] * sizes["d_h"]}


def others(reference: Reference) -> Iterator[tuple[str, Sizes]]:
    """The further sizes of a problem, by what is special about them."""
    takes = {"H_kv": "n_kv_heads" in (reference.arguments or ())}
    takes |= {"window": "window" in (reference.arguments or ()), "block_size": "block_size" in reference.takes}
    for name, changes in _OTHERS.items():
        special = name.split()[0]
        if special not in takes or takes[special]:
            yield name, generic(**changes)


def arguments(reference: Reference, sizes: Mapping[str, int]) -> list[int]:
    """What the class is made with."""
    values = {**sizes, "n_heads": sizes["H"], "n_kv_heads": sizes["H_kv"]}
    return [values[name] for name in reference.arguments or ()]


def shapes(reference: Reference, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors that it is given, by name."""
    B, L, Lk, H, d_h, d_model = (sizes[name] for name in ("B", "L", "Lk", "H", "d_h", "d_model"))
    known = {
        "x": (B, L, d_model), "context": (B, Lk, d_model),
        "q": (B, H, L, d_h), "k": (B, H, Lk, d_h), "v": (B, H, Lk, d_h),
    }  # fmt: skip
    return {name: known[name] for name in reference.takes if name in known}


def output_shape(reference: Reference, sizes: Sizes) -> tuple[int, ...]:
    return next(iter(shapes(reference, sizes).values()))


class Draw:
    """Draws tensors with a generator of its own."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def inputs(self, reference: Reference, sizes: Sizes) -> list[Any]:
        given: list[Any] = [self.normal(*shape) for shape in shapes(reference, sizes).values()]
        return [*given, sizes["block_size"]] if "block_size" in reference.takes else given

    def weights(self, parameters: Mapping[str, list[int]], d_model: int) -> dict[str, Tensor]:
        """Weights that make scores of about 1, and biases that matter."""
        return {
            name: self.normal(*shape) * (1.3 * d_model**-0.5 if len(shape) > 1 else 0.3)
            for name, shape in parameters.items()
        }

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self._generator, dtype=torch.float64)

    def masks(self, reference: Reference, sizes: Sizes) -> dict[str, Tensor]:
        """Masks of every kind that the problem takes; every query may attend to something."""
        if reference.masks == ("none",):
            return {}
        B, L, H = sizes["B"], sizes["L"], sizes["H"]
        Lk = sizes["L"] if reference.takes == ("x",) else sizes["Lk"]
        first = torch.arange(Lk) == 0
        lengths = torch.tensor([max(1, Lk - 1 - b % Lk) for b in range(B)])
        padding = (torch.arange(Lk) < lengths[:, None])[:, None, None, :]  # (B, 1, 1, Lk)
        causal = torch.ones(L, Lk, dtype=torch.bool).tril()  # (L, Lk)
        random = torch.rand(B, H, L, Lk, generator=self._generator).lt(0.5) | first
        joint = torch.rand(B, 1, L, Lk, generator=self._generator).lt(0.6) | first
        return {
            "random": random,
            "padding": padding,
            "causal": causal,
            "random, 0/1": random.to(torch.float64),
            "padding, 0/1": padding.to(torch.int64),
            "joint, 0/1": joint.to(torch.int64),
        }
