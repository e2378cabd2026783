"""Rotary position embedding: RoFormer (Su et al., 2021, arXiv:2104.09864), section 3.2.2, equation 15."""

from typing import Literal

import torch
from torch import Tensor, nn

from core.errors import BadInput

Pairing = Literal["halves", "neighbours"]


class RoPE(nn.Module):
    """Turns each pair of features by an angle that grows with the position: position * base ** (-2i / d_h) for pair i.

    `pairing` says which features make a pair: "neighbours" (2i and 2i + 1, the paper's own and GGUF's) or "halves"
    (i and i + d_h / 2, as transformers stores Llama). Weights trained for one give wrong numbers under the other.
    The angles are made once, in float64, for `max_len` positions. Raises BadInput for an odd `d_h`, another pairing.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, d_h: int, *, base: float = 10000.0, pairing: Pairing = "halves", max_len: int = 2048) -> None:
        super().__init__()
        if d_h % 2:
            raise BadInput("attention.rope-odd-size", d_h=d_h)
        if pairing not in ("halves", "neighbours"):
            raise BadInput("attention.rope-wrong-pairing", pairing=pairing)
        self.d_h, self.pairing, self.max_len = d_h, pairing, max_len
        frequency = base ** (-torch.arange(0, d_h, 2, dtype=torch.float64) / d_h)
        angle = torch.outer(torch.arange(max_len, dtype=torch.float64), frequency)  # (max_len, d_h / 2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Turn x (B, H, L, d_h), whose first token stands at position `start`; same shape out.

        Raises BadInput when a position reaches `max_len`.
        """
        stop = start + x.size(-2)
        if stop > self.max_len:
            raise BadInput("attention.rope-too-long", last=stop - 1, max_len=self.max_len)
        cos, sin = self.cos[start:stop].to(x.dtype), self.sin[start:stop].to(x.dtype)
        if self.pairing == "halves":
            a, b = x.chunk(2, dim=-1)  # (B, H, L, d_h / 2)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        a, b = x[..., 0::2], x[..., 1::2]  # (B, H, L, d_h / 2)
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)
