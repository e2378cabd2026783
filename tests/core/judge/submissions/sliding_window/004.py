import torch
import torch.nn as nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, window):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.window = window
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        q = self.q_proj(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k = self.k_proj(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        ones = torch.ones(L, L, dtype=torch.bool, device=x.device)
        band = ones.tril() & ones.triu(-self.window)
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        scores = scores.masked_fill(~band, float("-inf"))
        y = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(B, L, D)
        return self.o_proj(y)
