import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_kv = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def separate(self, t):
        return torch.stack(t.split(t.shape[-1] // self.n_heads, dim=-1), dim=1)

    def forward(self, x, mask=None):
        q = self.separate(self.to_q(x))
        k = v = self.separate(self.to_kv(x))
        s = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        if mask is not None:
            s = s.masked_fill(torch.logical_not(mask), float("-inf"))
        o = torch.matmul(s.softmax(dim=-1), v)
        return self.to_out(torch.cat([o[:, h] for h in range(self.n_heads)], dim=-1))
