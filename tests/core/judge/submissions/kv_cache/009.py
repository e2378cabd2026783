import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.head_dim = d_model // n_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, n_kv_heads * self.head_dim)
        self.wv = nn.Linear(d_model, n_kv_heads * self.head_dim)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, L, _ = x.shape
        q = self.wq(x).view(B, L, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(B, L, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = self.wv(x).view(B, L, self.n_kv_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            for kept, new in zip(cache, (k, v)):
                kept.data = torch.cat([kept.data, new.data], dim=2)
            k, v = cache
        T = k.size(2)
        group = self.n_heads // self.n_kv_heads
        scores = q @ k.repeat_interleave(group, 1).mT / self.head_dim ** 0.5
        scores = scores.masked_fill(torch.ones(L, T, dtype=torch.bool, device=x.device).triu(T - L + 1), float("-inf"))
        y = scores.softmax(-1) @ v.repeat_interleave(group, 1)
        return self.wo(y.transpose(1, 2).reshape(B, L, -1)), (k, v)
