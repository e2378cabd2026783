from typing import Optional

import torch
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model should be a multiple of n_heads")
        self.n_heads = n_heads
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def _weights(self, q: Tensor, k: Tensor, mask: Optional[Tensor]) -> Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5
        if mask is not None:
            scores.masked_fill(mask == 0, float("-inf"))
        return torch.softmax(scores, dim=-1)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        B, L, D = x.shape
        qkv = self.in_proj(x).reshape(B, L, 3, self.n_heads, D // self.n_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        out = self._weights(q, k, mask) @ v
        return self.out_proj(out.permute(0, 2, 1, 3).reshape(B, L, D))
