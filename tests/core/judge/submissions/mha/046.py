import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads, self.dim = n_heads, d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def attend(self, q, k):
        return torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) / self.dim ** 0.5, dim=-1)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q = self.q(x).view(B, L, self.n_heads, self.dim)
        k = self.k(x).view(B, L, self.n_heads, self.dim)
        v = self.v(x).view(B, L, self.n_heads, self.dim)
        weights = self.attend(q, k)
        out = torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(B, L, D)
        return self.o(out), weights
