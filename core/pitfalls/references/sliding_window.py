"""Sliding-window attention: a token sees itself and the few before it (Longformer, Beltagy et al., 2020; Mistral)."""

import torch
from torch import nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, window):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        if window < 1:
            raise ValueError(f"window = {window}, and a token sees at least itself")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.window = window
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        """x (B, L, d_model) to (B, L, d_model); each token sees `window` tokens, itself included."""
        B, L, d_model = x.shape
        q, k, v = self.w_qkv(x).chunk(3, dim=-1)  # each (B, L, d_model)

        def split(t):
            return t.view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)

        q, k, v = split(q), split(k), split(v)
        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, L, L)

        # How far key j lies behind query i: 0 is the token itself, window - 1 the farthest that is seen.
        position = torch.arange(L, device=x.device)
        behind = position[:, None] - position  # (L, L)
        allowed = (behind >= 0) & (behind < self.window)
        scores = scores.masked_fill(~allowed, float("-inf"))
        attn = scores.softmax(dim=-1)
        out = attn @ v  # (B, H, L, d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)
        return self.w_o(out)
