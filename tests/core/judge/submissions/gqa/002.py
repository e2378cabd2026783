import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0 and n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.head_dim = d_model // n_heads
        self.to_qkv = nn.Linear(d_model, d_model + 2 * n_kv_heads * self.head_dim)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, d = x.shape
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q = q.reshape(b, l, self.n_heads, self.head_dim).transpose(1, 2)
        k = k.reshape(b, l, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = v.reshape(b, l, self.n_kv_heads, self.head_dim).transpose(1, 2)
        group = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)
        s = q @ k.mT * self.head_dim ** -0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        return self.to_out((s.softmax(-1) @ v).transpose(1, 2).reshape(b, l, d))
