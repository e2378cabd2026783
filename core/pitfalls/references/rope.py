"""Causal self-attention with rotary positions and a cache: RoFormer (Su et al., 2021), section 3.2.2.

Queries and keys are turned by an angle that grows with their position, so that their product depends on how far apart
they are. Feature i makes a pair with feature i + d_h / 2, as in Llama's code.
"""

import torch
from torch import nn


def rotate(t, start):
    """Turn t (B, H, L, d_h), whose first token stands at position `start`; same shape out."""
    L, d_h = t.shape[-2:]
    frequency = 10000.0 ** (-torch.arange(0, d_h, 2, dtype=torch.float64, device=t.device) / d_h)  # (d_h / 2,)
    position = torch.arange(start, start + L, dtype=torch.float64, device=t.device)  # (L,)
    angle = position[:, None] * frequency  # (L, d_h / 2)
    cos, sin = angle.cos().to(t.dtype), angle.sin().to(t.dtype)  # rounded last: half precision cannot hold positions
    a, b = t.chunk(2, dim=-1)  # each (B, H, L, d_h / 2)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        if d_model // n_heads % 2:
            raise ValueError(f"d_h = {d_model // n_heads} is odd, and features are turned in pairs")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        """x (B, L, d_model), the tokens that follow those in the cache; returns out (B, L, d_model) and the new cache.

        A cache is (k, v), each (B, H, T, d_h), T tokens so far, the keys turned already.
        """
        B, L, d_model = x.shape
        q = self.w_q(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)
        k = self.w_k(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)
        v = self.w_v(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)

        start = 0 if cache is None else cache[0].size(2)
        q = rotate(q, start)
        k = rotate(k, start)
        if cache is not None:
            k = torch.cat((cache[0], k), dim=2)  # (B, H, T, d_h)
            v = torch.cat((cache[1], v), dim=2)  # (B, H, T, d_h)
        cache = (k, v)

        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, L, T)
        allowed = torch.ones(L, start + L, dtype=torch.bool, device=x.device).tril(start)
        scores = scores.masked_fill(~allowed, float("-inf"))
        attn = scores.softmax(dim=-1)
        out = attn @ v  # (B, H, L, d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)
        return self.w_o(out), cache
