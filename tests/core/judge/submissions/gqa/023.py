import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        d_head = d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, n_kv_heads * d_head)
        self.v = nn.Linear(d_model, n_kv_heads * d_head)
        self.o = nn.Linear(d_model, d_model)
        self.d_head = d_head
        self.register_buffer("kv_index", torch.arange(n_kv_heads).repeat(n_heads // n_kv_heads))

    def forward(self, x, mask=None):
        q, k, v = (f(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for f in (self.q, self.k, self.v))
        k = k.index_select(1, self.kv_index)
        v = v.index_select(1, self.kv_index)
        scores = torch.matmul(q, k.mT) / self.d_head ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, 0.0)
        return self.o(torch.matmul(scores.softmax(-1), v).transpose(1, 2).flatten(2))
