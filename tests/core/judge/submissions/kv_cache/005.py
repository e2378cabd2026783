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
        B, L, D = x.shape
        q = self.wq(x).view(B, L, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(B, L, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = self.wv(x).view(B, L, self.n_kv_heads, self.head_dim).transpose(1, 2)
        past = 0
        if cache is not None:
            past = cache[0].size(2)
            k = torch.cat([cache[0], k], dim=1)
            v = torch.cat([cache[1], v], dim=1)
        new_cache = (k, v)
        group = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)
        scores = q @ k.transpose(-1, -2) / self.head_dim ** 0.5
        keep = torch.ones(L, past + L, dtype=torch.bool, device=x.device).tril(past)
        scores = scores.masked_fill(~keep, float("-inf"))
        y = scores.softmax(dim=-1) @ v
        return self.wo(y.transpose(1, 2).reshape(B, L, D)), new_cache
