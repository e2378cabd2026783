from math import sqrt

import torch
from torch import nn, Tensor


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{n_heads=} must divide {d_model=}")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def _heads(self, t: Tensor) -> Tensor:
        return t.view(*t.shape[:2], self.n_heads, self.d_head)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self._heads(self.w_q(x)), self._heads(self.w_k(x)), self._heads(self.w_v(x))
        logits = torch.matmul(q, k.transpose(-2, -1)) / sqrt(self.d_head)
        if mask is not None:
            logits = logits.masked_fill(~mask.bool(), -torch.inf)
        ctx = torch.matmul(logits.softmax(-1), v)
        return self.w_o(ctx.flatten(2))
