"""Grouped-query attention with one projection for all three, around PyTorch's fused kernel, which shares the heads."""

import torch.nn.functional as F
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        if n_heads % n_kv_heads:
            raise ValueError(f"n_heads = {n_heads} is not a multiple of n_kv_heads = {n_kv_heads}")
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.d_h = d_model // n_heads
        self.w_qkv = nn.Linear(d_model, d_model + 2 * n_kv_heads * self.d_h)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        """x (B, L, d_model) to itself. `mask` is bool or 0/1, broadcasts to (B, H, L, L), True / 1 = may attend."""
        B, L, d_model = x.shape
        # The parts are not equal: q has n_heads heads, k and v have n_kv_heads each.
        d_kv = self.n_kv_heads * self.d_h
        q, k, v = self.w_qkv(x).split((d_model, d_kv, d_kv), dim=-1)  # (B, L, d_model), twice (B, L, d_kv)
        q = q.view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)
        k = k.view(B, L, self.n_kv_heads, self.d_h).transpose(1, 2)  # (B, H_kv, L, d_h)
        v = v.view(B, L, self.n_kv_heads, self.d_h).transpose(1, 2)  # (B, H_kv, L, d_h)

        # The kernel hides where a bool mask is False, and would add a float one. A row that is all hidden gives zeros.
        allowed = None if mask is None else mask != 0
        # With enable_gqa, query head h reads kv head h // G, and nothing is repeated in memory.
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True)  # (B, H, L, d_h)
        out = out.transpose(1, 2).reshape(B, L, d_model)
        return self.w_o(out)
