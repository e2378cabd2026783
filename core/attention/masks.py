"""Masks. Everywhere in Headwise a mask is bool or 0/1, and True / 1 means: may attend."""

import torch
from torch import Tensor

from core.errors import BadInput


def causal_mask(L: int, Lk: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Which keys the last `L` of `Lk` positions may attend to: their own and all before it.

    Returns a bool tensor (L, Lk). With a KV cache Lk > L, and query i stands at position Lk - L + i.
    """
    Lk = L if Lk is None else Lk
    return torch.ones(L, Lk, dtype=torch.bool, device=device).tril(Lk - L)


def padding_mask(lengths: Tensor, L: int) -> Tensor:
    """Which keys are tokens, not padding: (B, 1, 1, L) bool, from the true `lengths` (B,) of right-padded sequences."""
    return (torch.arange(L, device=lengths.device) < lengths[:, None])[:, None, None, :]


def as_bool(mask: Tensor, scores_shape: tuple[int, ...]) -> Tensor:
    """The mask as bool, checked to broadcast to `scores_shape` = (B, H, L, Lk).

    Raises BadInput (a ValueError) for values other than 0 and 1, and for a shape that does not broadcast: an additive
    mask of 0 and -inf is refused, since reading it as 0/1 would turn it upside down.
    """
    fits = mask.dim() <= 4 and all(
        m in (1, s) for m, s in zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    )
    if not fits:
        raise BadInput("attention.mask-not-broadcastable", shape=tuple(mask.shape), scores=scores_shape)
    mask = torch.atleast_2d(mask)  # the fused kernel takes no fewer axes
    if mask.dtype == torch.bool:
        return mask
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise BadInput("attention.mask-wrong-values", dtype=mask.dtype)
    return mask != 0
