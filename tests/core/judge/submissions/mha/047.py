import torch
from torch import nn, einsum


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.e = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        b, l, m = x.shape
        q, k, v = (w(x).view(b, l, self.e, -1) for w in (self.wq, self.wk, self.wv))
        s = einsum("bled,bned->beln", q, k) * (self.e / m) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        z = einsum("beln,bned->blde", s.softmax(-1), v)
        return self.wo(z.reshape(b, l, m))
