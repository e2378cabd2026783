"""Compares what came out with what is expected: the kind, the shape, then finite numbers, then the numbers."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.judge._subject import Reply

TOLERANCE = 1e-9
"""Relative to the largest number that is expected: far above float64's rounding, far below any mistake."""


@dataclass(frozen=True)
class Fault:
    """Why something is not what it should be: a reason, and the figures that go into its words."""

    reason: str
    params: dict[str, Any] = field(default_factory=dict)


def fault_of(reply: Reply, expected: Tensor, *, tolerance: float = TOLERANCE, cached: bool = False) -> Fault | None:
    """What is wrong with a reply, None if nothing is. nan never passes."""
    if reply.error is not None:
        return raised(reply.error)
    out = reply.out
    wanted = "tuple" if cached else "tensor"
    if not isinstance(out, Tensor) or reply.raw.get("kind") != wanted or (cached and reply.cache is None):
        return Fault("returns", {"returned": reply.returned})
    return difference(out, expected, tolerance)


def raised(error: dict[str, Any]) -> Fault:
    return Fault("raises", {"error": error["type"], "text": error["text"], "line": error.get("line")})


def difference(found: Tensor, expected: Tensor, tolerance: float = TOLERANCE) -> Fault | None:
    """The worst place of two tensors, None where they agree."""
    if found.shape != expected.shape:
        return Fault("shape", {"found": tuple(found.shape), "expected": tuple(expected.shape)})
    if not found.numel():
        return None
    found, expected = found.double(), expected.double()
    lost = ~found.isfinite()
    apart = (found - expected).abs()
    where = lost.double() if lost.any() else apart
    index = tuple(int(i) for i in torch.unravel_index(where.argmax(), where.shape))
    told = {"index": index, "found": found[index].item(), "expected": expected[index].item()}
    if lost.any():
        return Fault("nan", told | {"share": lost.double().mean().item()})
    worst = apart.max().item()
    if worst <= tolerance * max(1.0, expected.abs().max().item()):
        return None
    return Fault("numbers", told | {"difference": worst})
