import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0 and n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.d_head = d_model // n_kv_heads
        self.wq = nn.Linear(d_model, n_heads * self.d_head)
        self.wk = nn.Linear(d_model, n_kv_heads * self.d_head)
        self.wv = nn.Linear(d_model, n_kv_heads * self.d_head)
        self.wo = nn.Linear(n_heads * self.d_head, d_model)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        q = self.wq(x).view(B, L, self.n_heads, self.d_head).transpose(1, 2)
        k = self.wk(x).view(B, L, self.n_kv_heads, self.d_head).transpose(1, 2)
        v = self.wv(x).view(B, L, self.n_kv_heads, self.d_head).transpose(1, 2)
        group = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(group, 1)
        v = v.repeat_interleave(group, 1)
        scores = q @ k.transpose(-2, -1) / self.d_head ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        out = scores.softmax(-1) @ v
        return self.wo(out.transpose(1, 2).flatten(2))
