import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        assert (d_model % n_heads) == 0, 'dimension must be divisible by number of heads'
        self.heads = n_heads
        self.scale = (d_model // n_heads) ** -0.5
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        n, h, device = x.shape[-2], self.heads, x.device
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: t.reshape(*t.shape[:-1], h, -1).transpose(-3, -2), (q, k, v))
        sim = torch.einsum('b h i d, b h j d -> b h i j', q * self.scale, k)
        causal_mask = torch.ones((n, n), device=device).triu(1).bool()
        sim = sim.masked_fill(causal_mask, -torch.finfo(sim.dtype).max)
        sim = self.dropout(sim)
        attn = sim.softmax(dim=-1)
        out = torch.einsum('b h i j, b h j d -> b h i d', attn, v)
        return out.transpose(-3, -2).flatten(-2)
