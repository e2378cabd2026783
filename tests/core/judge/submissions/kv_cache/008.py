import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.q_lin = nn.Linear(d_model, d_model)
        self.k_lin = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.v_lin = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.o_lin = nn.Linear(d_model, d_model)

    def heads(self, t, n):
        t = t.unflatten(-1, (n, -1)).transpose(1, 2)
        return t.repeat_interleave(self.n_heads // n, dim=1)

    def forward(self, x, cache=None):
        q = self.heads(self.q_lin(x), self.n_heads)
        k = self.heads(self.k_lin(x), self.n_kv_heads)
        v = self.heads(self.v_lin(x), self.n_kv_heads)
        if cache is not None:
            k = torch.cat((cache[0], k), dim=2)
            v = torch.cat((cache[1], v), dim=2)
        lq, lk = q.size(2), k.size(2)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.size(-1) ** 0.5
        unseen = torch.ones(lq, lk, device=x.device).triu(lk - lq + 1).bool()
        attn = scores.masked_fill(unseen, float("-inf")).softmax(-1)
        y = torch.einsum("bhqk,bhkd->bqhd", attn, v).flatten(2)
        return self.o_lin(y), (k, v)
