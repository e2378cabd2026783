import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = n_heads
        self.scale = (d_model // n_heads) ** -0.5
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_k = nn.Linear(d_model, d_model, bias=False)
        self.to_v = nn.Linear(d_model, d_model, bias=False)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model), nn.Dropout(dropout))

    def head_to_batch_dim(self, t):
        b, l, d = t.shape
        return t.reshape(b, l, self.heads, d // self.heads).permute(0, 2, 1, 3).reshape(b * self.heads, l, -1)

    def batch_to_head_dim(self, t):
        n, l, c = t.shape
        return t.reshape(n // self.heads, self.heads, l, c).permute(0, 2, 1, 3).reshape(n // self.heads, l, -1)

    def forward(self, x, context, mask=None):
        q = self.head_to_batch_dim(self.to_q(x))
        k = self.head_to_batch_dim(self.to_k(context))
        v = self.head_to_batch_dim(self.to_v(context))
        sim = torch.einsum('b i d, b j d -> b i j', q, k) * self.scale
        if mask is not None:
            full = mask.bool().expand(x.size(0), self.heads, x.size(1), context.size(1))
            sim = sim.masked_fill(~full.reshape(sim.shape), -torch.finfo(sim.dtype).max)
        out = torch.einsum('b i j, b j d -> b i d', sim.softmax(dim=-1), v)
        return self.to_out(self.batch_to_head_dim(out))
