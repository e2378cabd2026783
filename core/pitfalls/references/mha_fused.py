"""Multi-head attention around PyTorch's fused kernel, which scales, masks, weighs and mixes in one call."""

import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        """x (B, L, d_model) to itself. `mask` is bool or 0/1, broadcasts to (B, H, L, L), True / 1 = may attend."""
        B, L, d_model = x.shape
        q, k, v = self.w_qkv(x).chunk(3, dim=-1)  # each (B, L, d_model)

        def split(t):
            return t.view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)

        q, k, v = split(q), split(k), split(v)

        # The kernel hides where a bool mask is False, and would add a float one. A row that is all hidden gives zeros.
        allowed = None if mask is None else mask != 0
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)  # (B, H, L, d_h)
        out = out.transpose(1, 2).reshape(B, L, d_model)
        return self.w_o(out)
