import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        d_h = D // self.n_heads
        q = self.query(x).view(B, L, self.n_heads, d_h).transpose(1, 2)
        k = self.key(x).view(B, L, self.n_heads, d_h).transpose(1, 2)
        v = self.value(x).view(B, L, self.n_heads, d_h).transpose(1, 2)
        y = x.new_zeros(B, L, D)
        for h in range(self.n_heads):
            s = q[:, h] @ k[:, h].mT / d_h ** 0.5                 # (B, L, L)
            s = s + s.new_full((L, L), float("-inf")).triu(1)
            y[:, :, h * d_h:(h + 1) * d_h] = s.softmax(-1) @ v[:, h]
        return self.out(y)
