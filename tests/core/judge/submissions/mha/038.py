import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, d_model)
        self.lin_v = nn.Linear(d_model, d_model)
        self.lin_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        H, dh = self.n_heads, D // self.n_heads
        q = self.lin_q(x).view(B, L, H, dh).transpose(1, 2)
        k = self.lin_k(x).view(B, L, H, dh).transpose(1, 2)
        v = self.lin_v(x).view(B, L, H, dh).transpose(1, 2)
        k_t = k.permute(*range(k.ndim - 1, -1, -1))
        scores = q @ k_t / dh ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        probs = scores.softmax(dim=-1)
        y = (probs @ v).transpose(1, 2).reshape(B, L, D)
        return self.lin_o(y)
