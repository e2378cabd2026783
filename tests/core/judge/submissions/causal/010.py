import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        size = d_model // n_heads
        self.q = nn.ModuleList([nn.Linear(d_model, size) for _ in range(n_heads)])
        self.k = nn.ModuleList([nn.Linear(d_model, size) for _ in range(n_heads)])
        self.v = nn.ModuleList([nn.Linear(d_model, size) for _ in range(n_heads)])
        self.join = nn.Linear(d_model, d_model)
        self.normalise = nn.Softmax(dim=0)

    def one_head(self, i, x, future):
        q, k, v = self.q[i](x), self.k[i](x), self.v[i](x)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
        return self.normalise(scores) @ v

    def forward(self, x):
        length = x.shape[1]
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        return self.join(torch.cat([self.one_head(i, x, future) for i in range(len(self.q))], dim=-1))
