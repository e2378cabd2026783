import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.attn = nn.MultiheadAttention(d_model, n_heads, dropout=0.0, bias=True)

    def forward(self, x, mask=None):
        attn_mask = None
        if mask is not None:
            B, L = x.size(0), x.size(1)
            attn_mask = (mask == 0).expand(B, self.n_heads, L, L).reshape(B * self.n_heads, L, L)
        out = self.attn(query=x, key=x, value=x, attn_mask=attn_mask)[0]
        return out
