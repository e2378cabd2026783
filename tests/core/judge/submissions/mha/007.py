import torch
from torch import nn
from torch import einsum


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.d_h = d_model // n_heads
        self.P = nn.Parameter(torch.randn(3, n_heads, d_model, self.d_h) * d_model ** -0.5)
        self.merge = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = einsum("ble,phed->pbhld", x, self.P)
        e = einsum("bhkd,bhqd->bhkq", k, q) * self.d_h ** -0.5
        if mask is not None:
            e = e.masked_fill(mask.mT == 0, float("-inf"))
        a = e.softmax(dim=-1)
        o = einsum("bhkq,bhkd->bqhd", a, v)
        return self.merge(o.flatten(-2))
