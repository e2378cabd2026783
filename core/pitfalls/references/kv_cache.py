"""Causal grouped-query attention that remembers: in any chunks, the output is that of one pass over all tokens."""

import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        if n_heads % n_kv_heads:
            raise ValueError(f"n_heads = {n_heads} is not a multiple of n_kv_heads = {n_kv_heads}")
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.d_h = d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, n_kv_heads * self.d_h)
        self.w_v = nn.Linear(d_model, n_kv_heads * self.d_h)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        """x (B, L, d_model), the tokens that follow those in the cache; returns out (B, L, d_model) and the new cache.

        A cache is (k, v), each (B, H_kv, T, d_h), T tokens so far. The one that is given keeps its values.
        """
        B, L, d_model = x.shape
        q = self.w_q(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)
        k = self.w_k(x).view(B, L, self.n_kv_heads, self.d_h).transpose(1, 2)  # (B, H_kv, L, d_h)
        v = self.w_v(x).view(B, L, self.n_kv_heads, self.d_h).transpose(1, 2)  # (B, H_kv, L, d_h)

        if cache is not None:
            k = torch.cat((cache[0], k), dim=2)  # (B, H_kv, T, d_h)
            v = torch.cat((cache[1], v), dim=2)  # (B, H_kv, T, d_h)
        cache = (k, v)  # before the repeat: one entry for each kv head is what makes the cache small

        G = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(G, dim=1)  # (B, H, T, d_h)
        v = v.repeat_interleave(G, dim=1)  # (B, H, T, d_h)
        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, L, T)

        # The new tokens are the last L of T: query i stands at position T - L + i, and sees what is not after it.
        T = k.size(2)
        allowed = torch.ones(L, T, dtype=torch.bool, device=x.device).tril(T - L)
        scores = scores.masked_fill(~allowed, float("-inf"))
        attn = scores.softmax(dim=-1)
        out = attn @ v  # (B, H, L, d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)
        return self.w_o(out), cache
