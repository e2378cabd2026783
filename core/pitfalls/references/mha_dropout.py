"""Multi-head attention with dropout on the weights, as it is trained."""

import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.dropout = dropout
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        """x (B, L, d_model) to itself. `mask` is bool or 0/1, broadcasts to (B, H, L, L), True / 1 = may attend."""
        B, L, d_model = x.shape
        q, k, v = self.w_qkv(x).chunk(3, dim=-1)  # each (B, L, d_model)

        def split(t):
            return t.view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)

        q, k, v = split(q), split(k), split(v)
        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, L, L)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = scores.softmax(dim=-1)
        if mask is not None:
            # A query that may attend to nothing has a row of -inf, which softmax turns into nan: it takes nothing.
            attn = attn.masked_fill(scores.isneginf().all(dim=-1, keepdim=True), 0.0)
        # Weights are dropped, and only in training: the others grow by 1 / (1 - p), so that the mean stays.
        attn = F.dropout(attn, self.dropout, training=self.training)
        out = attn @ v  # (B, H, L, d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)
        return self.w_o(out)
