import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, p=0.2):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(p)

    def forward(self, x, mask=None):
        B, L, D = x.size()
        qkv = self.qkv_proj(x).reshape(B, L, 3, self.n_heads, -1)
        q, k, v = (qkv[:, :, i].permute(0, 2, 1, 3) for i in range(3))
        scores = self.drop(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = torch.softmax(scores, dim=-1)
        values = (attn @ v).permute(0, 2, 1, 3).reshape(B, L, D)
        return self.o_proj(values)
