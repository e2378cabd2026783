import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.norm_factor = math.sqrt(d_model // n_heads)
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask=None):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.norm_factor
        if mask is not None:
            logits = logits.masked_fill(mask == 0, -torch.inf)
        probs = logits.softmax(-1)
        ctx = torch.einsum("bhqk,bhkd->bhqd", probs, v)
        return self.out(ctx.reshape(x.shape))
