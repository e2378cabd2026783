import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_kv = nn.Linear(d_model, 2 * d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        shape = (B, L, self.n_heads, D // self.n_heads)
        q = self.to_q(x).view(shape).transpose(1, 2)
        k, v = (t.reshape(shape).transpose(1, 2) for t in self.to_kv(x).chunk(2, dim=-1))
        sim = q @ k.mT / shape[-1] ** 0.5
        if mask is not None:
            allowed = mask.bool().expand(B, self.n_heads, L, L)
            sim = sim.masked_fill(~allowed.mT, float("-inf"))
        out = sim.softmax(-1) @ v
        return self.to_out(out.transpose(1, 2).reshape(B, L, D))
