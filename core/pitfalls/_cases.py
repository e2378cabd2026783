"""From a case to tensors: sizes, weights, inputs, masks. All drawn from generators of their own, in float64."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import BadInput
from core.pitfalls._change import Changed
from core.pitfalls._references import Reference
from core.pitfalls._sizes import chunks, sizes_of
from core.pitfalls.schema import Case

_LARGE = 60.0  # times the inputs, so that scores reach thousands: exp overflows even in float64


@dataclass(frozen=True)
class Built:
    """A function or a module made from a source, or the error that came instead."""

    filename: str
    made: Any
    error: Exception | None = None


@dataclass(frozen=True)
class Inputs:
    """What one run is made of. `given` goes into the call by name; for a reference with a cache, x is all tokens, and
    `chunks` says how many of them each call takes."""

    sizes: dict[str, int]
    given: dict[str, Any]
    axes: dict[str, str]
    chunks: tuple[int, ...] = ()

    @property
    def tensors(self) -> dict[str, Tensor]:
        return {name: value for name, value in self.given.items() if isinstance(value, Tensor)}


def build(changed: Changed, case: Case) -> Built:
    """The function that the source defines, or a module of the class that it defines, with weights of torch's own."""
    sizes = sizes_of(changed.reference, case.sizes)
    namespace: dict[str, Any] = {"__name__": changed.filename.strip("<>")}
    try:
        exec(compile(changed.source, changed.filename, "exec"), namespace)
        made = namespace[changed.reference.call]
        if changed.reference.arguments is not None:
            values = {"d_model": sizes["d_model"], "n_heads": sizes["H"], "n_kv_heads": sizes["H_kv"]} | sizes
            made = made(*(values[name] for name in changed.reference.arguments))
            made = made.to(dtype=getattr(torch, case.dtype), device=case.device).train(case.training)
    except Exception as error:  # noqa: BLE001  whatever wrong code raises is what is looked for
        return Built(changed.filename, None, error)
    return Built(changed.filename, made)


def draw_weights(right: Any, wrong: Any) -> tuple[str, ...]:
    """Give two modules the same weights, by name and size; says what only one of them has.

    What only the wrong one has is drawn on its own. Layers that a module does not know of keep what they have.
    """
    if not isinstance(wrong, nn.Module):
        return ()
    if not isinstance(right, nn.Module):  # the reference refuses these sizes
        right = wrong
    first, second = _generator(1), _generator(2)
    rights, wrongs = dict(right.named_parameters()), dict(wrong.named_parameters())
    for parameter in rights.values():
        _draw(parameter, first)
    for name, parameter in wrongs.items():
        other = rights.get(name)
        if other is not None and other.shape == parameter.shape:
            with torch.no_grad():
                parameter.copy_(other)
        else:
            _draw(parameter, second)
    return tuple(
        f"{name} {_shape(rights.get(name))} → {_shape(wrongs.get(name))}"
        for name in dict.fromkeys((*rights, *wrongs))
        if _shape(rights.get(name)) != _shape(wrongs.get(name))
    )


def inputs(reference: Reference, case: Case, *, leaves: bool = False) -> Inputs:
    """The inputs of a run; `leaves` are those whose gradients are wanted.

    Raises BadInput for a size that nobody has, and for a mask or values that the reference cannot be given."""
    sizes = sizes_of(reference, case.sizes)
    if case.mask not in reference.masks:
        raise BadInput("pitfalls.mask-not-taken", reference=reference.name, mask=case.mask)
    B, H, L, Lk, d_h, d_model = (sizes[name] for name in ("B", "H", "L", "Lk", "d_h", "d_model"))
    generator = _generator(0)

    def draw(*shape: int) -> Tensor:
        scale = _LARGE if case.values == "large" else 1.0
        return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale

    mask = _mask(case.mask, sizes, generator)
    if "q" in reference.takes:
        q, k, v = draw(B, H, L, d_h), draw(B, H, Lk, d_h), draw(B, H, Lk, d_h)
        if case.values == "low":  # q and k point away from each other
            q, k = q.abs() + _LARGE, -k.abs() - _LARGE
        if case.values == "hidden-nan" and mask is not None:
            unseen = ~mask.expand(B, H, L, Lk).any(dim=-2)  # (B, H, Lk)
            v = v.masked_fill(unseen.unsqueeze(-1), float("nan"))
        given: dict[str, Any] = {"q": q, "k": k, "v": v}
        axes = {"q": "B H Lq d_h", "k": "B H Lk d_h", "v": "B H Lk d_h"}
    else:
        given, axes = {"x": draw(B, L, d_model)}, {"x": "B L d_model"}
        if case.values == "nan":
            given["x"][0, 0, 0] = float("nan")
    if "context" in reference.takes:
        given["context"] = draw(sizes["Bk"], Lk, d_model)
        axes = {"x": "B Lq d_model", "context": "B Lk d_model"}
    if mask is not None:
        written = mask if case.mask_dtype == "bool" else mask.to(getattr(torch, case.mask_dtype))
        given["mask"] = written
    placed: dict[str, Any] = {name: _placed(value, case) for name, value in given.items()}
    if leaves and reference.differentiable and case.device == "cpu":
        for name, tensor in placed.items():  # not the mask: kernels are chosen by whether it wants a gradient
            tensor.requires_grad_(tensor.is_floating_point() and name != "mask")
    if "block_size" in reference.takes:
        placed["block_size"] = sizes["block_size"]
    return Inputs(sizes, placed, axes, chunks(L) if reference.cached else ())


def pieces(inputs: Inputs) -> Iterator[Tensor]:
    """x in its chunks, of a reference with a cache."""
    yield from inputs.given["x"].split(inputs.chunks, dim=1)


def _mask(kind: str, sizes: dict[str, int], generator: torch.Generator) -> Tensor | None:
    B, H, L, Lk = (sizes[name] for name in ("B", "H", "L", "Lk"))
    causal = torch.ones(L, Lk, dtype=torch.bool).tril(Lk - L)
    lengths = torch.tensor([max(1, Lk - b % Lk) for b in range(B)])
    padding = (torch.arange(Lk) < lengths[:, None])[:, None, None, :]  # (B, 1, 1, Lk)
    match kind:
        case "none":
            return None
        case "causal":
            return causal
        case "padding":
            return padding
        case "joint":
            return causal & padding
        case "random":
            return torch.rand(B, H, L, Lk, generator=generator).lt(0.5) | (torch.arange(Lk) == 0)
        case _:
            mask = torch.rand(B, 1, L, Lk, generator=generator).lt(0.5) | (torch.arange(Lk) == 0)
            mask[0, :, -1] = False
            return mask


def _draw(parameter: nn.Parameter, generator: torch.Generator) -> None:
    if parameter.device.type == "meta":
        return
    spread = parameter.size(-1) ** -0.5 if parameter.dim() > 1 else 0.5
    drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * spread
    with torch.no_grad():
        parameter.copy_(drawn)


def _placed(tensor: Tensor, case: Case) -> Tensor:
    dtype = getattr(torch, case.dtype) if tensor.is_floating_point() else tensor.dtype
    return tensor.to(dtype=dtype, device=case.device)


def _shape(parameter: nn.Parameter | None) -> tuple[int, ...] | None:
    return None if parameter is None else tuple(parameter.shape)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
