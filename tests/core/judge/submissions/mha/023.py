import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        s = q @ k.mT * (d // self.h) ** -0.5
        if mask is not None:
            bias = (1 - mask.to(s.dtype)) * float("-inf")
            s = s + bias
        return self.proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, l, d))
