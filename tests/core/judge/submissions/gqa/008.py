import torch
import torch.nn as nn


def share(t, copies):
    """Head by head: 0 0 1 1 ..."""
    return torch.stack([t] * copies, dim=2).flatten(1, 2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.groups = n_kv_heads
        width = d_model // n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, n_kv_heads * width)
        self.value = nn.Linear(d_model, n_kv_heads * width)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q = self.query(x).unflatten(2, (self.n_heads, -1)).transpose(1, 2)
        k = self.key(x).unflatten(2, (self.n_kv_heads, -1)).transpose(1, 2)
        v = self.value(x).unflatten(2, (self.n_kv_heads, -1)).transpose(1, 2)
        k, v = share(k, self.groups), share(v, self.groups)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.output((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
