import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, (d_model, n_heads)
        self.n_heads = n_heads
        self.size = d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        Q, K, V = self.q(x), self.k(x), self.v(x)
        if mask is not None:
            mask = mask.bool().expand(B, self.n_heads, L, L)
        y = self.out.bias
        for h in range(self.n_heads):
            a, b = h * self.size, (h + 1) * self.size
            scores = Q[..., a:b] @ K[..., a:b].transpose(-1, -2)
            scores = scores / self.size ** 0.5
            if mask is not None:
                scores = scores.masked_fill(mask[:, h].logical_not(), float("-inf"))
            y = y + F.linear(scores.softmax(-1) @ V[..., a:b], self.out.weight[:, a:b])
        return y
