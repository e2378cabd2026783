"""One run of one source: the calls, what came out, the gradients, and whether it wrote into what it was given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from core.pitfalls._cases import Built, Inputs, pieces
from core.pitfalls._dropout import SameDropout
from core.pitfalls._references import Reference


@dataclass
class Played:
    """`outputs` has what each call returned, by name, as far as it came; `error` is what ended it, in which call and on
    which line of the source."""

    outputs: list[dict[str, Tensor]] = field(default_factory=list)
    error: Exception | None = None
    line: int | None = None
    returned: str = ""
    """What a call returned that cannot be taken apart, in words of Python; then it is the last call."""
    written: tuple[str, ...] = ()
    kept_bytes: int = 0
    """Of the last cache."""
    gradients: dict[str, Tensor | None] = field(default_factory=dict)


def play(built: Built, reference: Reference, inputs: Inputs, *, seed: int = 0) -> Played:
    """Run all calls of `inputs`, and differentiate if it has leaves.

    With a cache, run chunk by chunk, and then the second chunk's place once more with other tokens, from the first
    call's cache: that cache must still be what it was. `seed` is that of the dropout.
    """
    played = Played()
    if built.error is not None:
        return _failed(played, built.error, built.filename)
    function = built.made
    before = {name: tensor.clone() for name, tensor in inputs.tensors.items()}
    caches: list[Any] = [None]
    kept: list[list[Tensor]] = [[]]
    dropout = SameDropout(seed)
    for x, start_from in calls(inputs):
        try:
            with dropout:
                result = function(**inputs.given) if x is None else function(x, caches[start_from])
        except Exception as error:  # noqa: BLE001  whatever wrong code raises is what is looked for
            _failed(played, error, built.filename)
            break
        parts = _parts(result, reference)
        if parts is None:
            played.returned = describe(result)
            break
        played.outputs.append(parts)
        if reference.cached:
            caches.append(result[1])
            kept.append([part.detach().clone() for part in result[1]])
    if reference.cached and len(caches) > len(inputs.chunks):
        played.kept_bytes = sum(part.nbytes for part in caches[len(inputs.chunks)])
    with torch.no_grad():  # what was written into may have lost its way back
        played.written = tuple(name for name, tensor in inputs.tensors.items() if not same(tensor, before[name]))
        for call, (parts, copies) in enumerate(zip(caches[1:], kept[1:], strict=True)):
            if not all(same(part, copy) for part, copy in zip(parts, copies, strict=True)):
                played.written += (f"cache {call}",)
    if played.error is None and not played.returned:
        _differentiate(played, function, inputs)
    return played


def _failed(played: Played, error: Exception, filename: str) -> Played:
    played.line = _line(error, filename)
    played.error = error.with_traceback(None)  # its frames would keep every tensor alive
    return played


def _differentiate(played: Played, function: Callable[..., Any], inputs: Inputs) -> None:
    """The gradients of a fixed sum of all outputs, for every parameter and every input that is a leaf."""
    leaves: dict[str, Tensor] = dict(function.named_parameters()) if isinstance(function, nn.Module) else {}
    wanted = {name: tensor for name, tensor in inputs.tensors.items() if tensor.requires_grad}
    if not wanted:
        return
    leaves |= wanted
    total = torch.zeros((), dtype=torch.float64)
    for outputs in played.outputs:
        for out in outputs.values():
            total = total + (out.double() * torch.linspace(-1, 1, out.numel()).reshape(out.shape)).sum()
    try:
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    except RuntimeError as error:
        played.error = error.with_traceback(None)
        return
    played.gradients = dict(zip(leaves, found, strict=True))


def same(a: Tensor, b: Tensor, *, tolerance: float = 0.0) -> bool:
    """Whether two tensors hold the same, nan for nan; where there are no numbers, of one shape."""
    if a.shape != b.shape or a.device.type == "meta":
        return a.shape == b.shape
    return bool(torch.isclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True).all())


def describe(result: Any) -> str:
    """What was returned, as a person would say it in Python: Tensor (4, 5, 48), or tuple (Tensor, NoneType)."""
    if isinstance(result, Tensor):
        return f"Tensor {tuple(result.shape)}"
    if isinstance(result, (tuple, list)):
        return f"{type(result).__name__} ({', '.join(type(part).__name__ for part in result)})"
    return type(result).__name__


def calls(inputs: Inputs) -> list[tuple[Tensor | None, int]]:
    """For each call its x, and the number of the call whose cache it goes on from; None without a cache."""
    if not inputs.chunks:
        return [(None, 0)]
    chunks = list(pieces(inputs))
    found: list[tuple[Tensor | None, int]] = [(x, i) for i, x in enumerate(chunks)]
    return [*found, (chunks[1].flip(1) + 1.0, 1)] if len(chunks) > 1 else found


def _parts(result: Any, reference: Reference) -> dict[str, Tensor] | None:
    """The tensors that are compared, by name; None where the result is not what the reference returns."""
    if reference.gives == ("out",):
        return {"out": result} if isinstance(result, Tensor) else None
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], Tensor):
        return None
    if not reference.cached:
        return {"out": result[0], "attn": result[1]} if isinstance(result[1], Tensor) else None
    cache = result[1]
    if not isinstance(cache, (tuple, list)) or len(cache) != 2 or not all(isinstance(part, Tensor) for part in cache):
        return None
    return {"out": result[0]}


def _line(error: Exception, filename: str) -> int | None:
    line, traceback = None, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
