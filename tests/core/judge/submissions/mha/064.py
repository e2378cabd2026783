import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.maps = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(3)])
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = (f(x).view(B, L, self.n_heads, D // self.n_heads).transpose(1, 2) for f in self.maps)
        q = F.normalize(q, dim=-1)
        k = F.normalize(k, dim=-1)
        s = q @ k.transpose(2, 3) / (D // self.n_heads) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        y = s.softmax(dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(B, L, D))
