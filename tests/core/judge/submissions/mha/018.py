import torch
from torch import nn


class SingleHead(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.query = nn.Linear(d_model, d_k)
        self.key = nn.Linear(d_model, d_k)
        self.value = nn.Linear(d_model, d_k)
        self.root = d_k ** 0.5

    def forward(self, x, keep):
        weights = self.query(x) @ self.key(x).mT / self.root
        if keep is not None:
            weights = torch.where(keep, weights, -torch.inf)
        return weights.softmax(2) @ self.value(x)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = nn.ModuleList([SingleHead(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.up = nn.Linear(d_model // n_heads, d_model)

    def forward(self, x, mask=None):
        size = (x.shape[0], len(self.heads), x.shape[1], x.shape[1])
        keeps = [None] * len(self.heads) if mask is None else mask.bool().expand(size).unbind(1)
        results = torch.stack([h(x, m) for h, m in zip(self.heads, keeps)])
        return self.up(results.mean(dim=0))
