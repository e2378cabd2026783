import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.kv_dim = d_model // n_heads * n_kv_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wkv = nn.Linear(d_model, 2 * self.kv_dim)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        kv = self.wkv(x)
        keys, values = kv[..., :self.kv_dim], kv[..., -2 * self.kv_dim:-self.kv_dim]
        q = self.wq(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k = keys.reshape(B, L, self.n_kv_heads, -1).transpose(1, 2)
        v = values.reshape(B, L, self.n_kv_heads, -1).transpose(1, 2)
        k = torch.repeat_interleave(k, self.n_heads // self.n_kv_heads, dim=1)
        v = torch.repeat_interleave(v, self.n_heads // self.n_kv_heads, dim=1)
        weights = q @ k.mT / (D // self.n_heads) ** 0.5
        if mask is not None:
            weights = weights.masked_fill(~mask.bool(), float("-inf"))
        return self.wo((weights.softmax(dim=-1) @ v).transpose(1, 2).reshape(B, L, D))
