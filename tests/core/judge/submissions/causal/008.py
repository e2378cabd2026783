import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.key = nn.Linear(d_model, d_model)
        self.query = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, T, C = x.shape
        hs = C // self.n_heads
        k = self.key(x).view(B, T, self.n_heads, hs).transpose(1, 2)
        q = self.query(x).view(B, T, self.n_heads, hs).transpose(1, 2)
        v = self.value(x).view(B, T, self.n_heads, hs).transpose(1, 2)
        wei = (q @ k.transpose(-2, -1) * hs ** -0.5).softmax(dim=-1)
        wei = wei.tril()
        return self.proj((wei @ v).transpose(1, 2).reshape(B, T, C))
