import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model / n_heads"
        assert n_heads % n_kv_heads == 0, "n_heads / n_kv_heads"
        d_h = d_model // n_heads
        self.group = n_heads // n_kv_heads
        self.q = nn.ModuleList([nn.Linear(d_model, d_h) for _ in range(n_heads)])
        self.k = nn.ModuleList([nn.Linear(d_model, d_h) for _ in range(n_kv_heads)])
        self.v = nn.ModuleList([nn.Linear(d_model, d_h) for _ in range(n_kv_heads)])
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        hidden = None if mask is None else (mask == 0).expand(B, len(self.q), L, L)
        results = []
        for g in range(len(self.k)):
            key, value = self.k[g](x), self.v[g](x)
            for i in range(self.group):
                h = g * self.group + i
                query = self.q[h](x)
                scores = torch.bmm(query, key.mT) * query.shape[-1] ** -0.5
                if hidden is not None:
                    scores = scores.masked_fill(hidden[:, h], float("-inf"))
                results.append(torch.bmm(scores.softmax(dim=2), value))
        return self.o(torch.cat(results, dim=2))
