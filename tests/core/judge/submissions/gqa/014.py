import torch
import torch.nn as nn
from torch import einsum


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_kv, self.n_rep = n_kv_heads, n_heads // n_kv_heads
        self.d_h = d_model // n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, n_kv_heads * self.d_h, bias=False)
        self.v = nn.Linear(d_model, n_kv_heads * self.d_h, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q = self.q(x).view(B, L, self.n_kv, self.n_rep, self.d_h)
        k = self.k(x).view(B, L, self.n_kv, self.d_h)
        v = self.v(x).view(B, L, self.n_kv, self.d_h)
        s = einsum("blngd,bmnd->bnglm", q, k) * self.d_h ** -0.5
        if mask is not None:
            m = mask.expand(B, self.n_kv * self.n_rep, L, L).reshape(s.shape)
            s = s.masked_fill(m == 0, float("-inf"))
        y = einsum("bnglm,bmnd->blgnd", s.softmax(-1), v)
        return self.out(y.reshape(B, L, D))
