import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.dim = d_model // n_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wkv = nn.Linear(d_model, 2 * n_kv_heads * self.dim)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.wq(x).reshape(B, L, self.n_heads, self.dim).transpose(1, 2)
        kv = self.wkv(x).reshape(B, L, 2, self.n_kv_heads, self.dim).permute(2, 0, 3, 1, 4)
        if cache is not None:
            kv = torch.cat([torch.stack(cache), kv], dim=3)
        k, v = kv
        steps = torch.ones(k.shape[2], device=x.device).cumsum(0)
        allowed = steps[None, :] < steps[-L:, None]
        keys, values = kv.repeat_interleave(self.n_heads // self.n_kv_heads, dim=2)
        scores = q @ keys.mT * self.dim ** -0.5
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        y = (scores.softmax(-1) @ values).transpose(1, 2)
        return self.wo(y.reshape(B, L, D)), (k, v)
