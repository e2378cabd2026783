import math
import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.n_heads, self.d_k).transpose(1, 2)

    def forward(self, x, context, mask=None):
        q = self.split(self.W_q(context))
        k = self.split(self.W_k(x))
        v = self.split(self.W_v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        out = out.transpose(1, 2).contiguous().view(out.size(0), -1, self.n_heads * self.d_k)
        return self.W_o(out)
