import torch
import torch.nn as nn
import torch.nn.functional as F


class GroupedQueryAttention(nn.Module):
    """Mean-pooled keys and values, as one converts an MHA checkpoint."""

    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def pool(self, t):
        B, L, D = t.shape
        group = self.n_heads // self.n_kv_heads
        t = t.view(B, L, self.n_kv_heads, group, D // self.n_heads).mean(dim=3)
        return t.transpose(1, 2).repeat_interleave(group, dim=1)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q = self.wq(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k, v = self.pool(self.wk(x)), self.pool(self.wv(x))
        s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        return self.wo((F.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(B, L, D))
