import math
import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.num_heads = n_heads
        self.num_kv = n_kv_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.v_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.o_proj = nn.Linear(d_model, d_model)

    def heads(self, t, n):
        return t.reshape(t.shape[0], t.shape[1], n, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask=None):
        q = self.heads(self.q_proj(x), self.num_heads)
        k = self.heads(self.k_proj(x), self.num_kv).repeat_interleave(self.num_heads // self.num_kv, dim=1)
        v = self.heads(self.v_proj(x), self.num_kv).repeat_interleave(self.num_heads // self.num_kv, dim=1)
        attn = torch.matmul(k, q.transpose(2, 3)) / math.sqrt(q.size(-1))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, float("-inf"))
        y = torch.matmul(attn.softmax(dim=-1), v)
        return self.o_proj(y.permute(0, 2, 1, 3).reshape(x.shape))
