import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    """Keeps the attention map, so that it can be plotted."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.core = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.attn_map = None

    def forward(self, x, mask=None):
        B, L, D = x.shape
        H = self.core.num_heads
        hide = None
        if mask is not None:
            hide = ~mask.bool().expand(B, H, L, L).reshape(B * H, L, L)
        _, weights = self.core(x, x, x, attn_mask=hide, need_weights=True)
        self.attn_map = weights.detach()
        w_v, b_v = self.core.in_proj_weight[2 * D:], self.core.in_proj_bias[2 * D:]
        values = F.linear(x, w_v, b_v).view(B, L, H, D // H).transpose(1, 2)
        mixed = weights.unsqueeze(1) @ values
        return self.core.out_proj(mixed.transpose(1, 2).reshape(B, L, D))
