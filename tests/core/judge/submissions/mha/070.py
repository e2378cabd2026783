import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        n, l, d = x.shape
        d_h = d // self.n_heads
        q = (x @ self.Wq.weight.data.t()).view(n, l, self.n_heads, d_h).permute(0, 2, 1, 3)
        k = (x @ self.Wk.weight.data.t()).view(n, l, self.n_heads, d_h).permute(0, 2, 3, 1)
        v = self.Wv(x).view(n, l, self.n_heads, d_h).permute(0, 2, 1, 3)
        a = (q @ k) / d_h ** -0.5
        if mask is not None:
            a = a.masked_fill(mask.bool().logical_not(), float("-inf"))
        return self.Wo((a.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(n, l, d))
