"""The KV cache of one attention layer."""

import torch
from torch import Tensor

from core.errors import BadInput


class KVCache:
    """Keys and values of all tokens so far, each (B, H_kv, T, d_h): stored once per kv head, never repeated to H.

    Appending makes new tensors; those handed out before keep their values. One cache belongs to one layer and batch.
    """

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        """T, the number of tokens stored."""
        return 0 if self.k is None else self.k.size(-2)

    @property
    def nbytes(self) -> int:
        """Bytes that keys and values take together: 2 * B * H_kv * T * d_h * (bytes of one element)."""
        return 0 if self.k is None or self.v is None else self.k.nbytes + self.v.nbytes

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store the keys and values (B, H_kv, L, d_h) of new tokens; returns all of them, (B, H_kv, T + L, d_h).

        Raises BadInput when B, H_kv, d_h or the dtype differ from what is stored.
        """
        if self.k is not None and self.v is not None:
            stored = self.k
            if _all_but_length(stored) != _all_but_length(k):
                new, cached = f"{tuple(k.shape)} {k.dtype}", f"{tuple(stored.shape)} {stored.dtype}"
                raise BadInput("attention.cache-other-sizes", new=new, cached=cached)
            k, v = torch.cat((self.k, k), dim=-2), torch.cat((self.v, v), dim=-2)
        self.k, self.v = k, v
        return k, v


def _all_but_length(t: Tensor) -> tuple[object, ...]:
    return (*t.shape[:-2], *t.shape[-1:], t.dtype)
