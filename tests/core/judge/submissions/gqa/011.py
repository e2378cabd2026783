import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.head_dim = d_model // n_heads
        self.group = -(-n_heads // n_kv_heads)
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim)
        self.kv_proj = nn.Linear(d_model, 2 * n_kv_heads * self.head_dim)
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model)

    def forward(self, x, mask=None):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.n_heads, self.head_dim).transpose(1, 2)
        k, v = self.kv_proj(x).view(b, t, 2, self.n_kv_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        k = k.repeat_interleave(self.group, dim=1)[:, :self.n_heads]
        v = v.repeat_interleave(self.group, dim=1)[:, :self.n_heads]
        att = q @ k.transpose(2, 3) * self.head_dim ** -0.5
        if mask is not None:
            att = att.masked_fill(mask == 0, torch.finfo(att.dtype).min)
        y = att.softmax(dim=-1) @ v
        return self.o_proj(y.transpose(1, 2).reshape(b, t, -1))
