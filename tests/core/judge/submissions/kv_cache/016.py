import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads != 0 or n_heads % n_kv_heads != 0:
            raise ValueError("indivisible")
        self.heads, self.kv_heads = n_heads, n_kv_heads
        dim_head = d_model // n_heads
        self.scale = dim_head ** -0.5
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_k = nn.Linear(d_model, n_kv_heads * dim_head, bias=False)
        self.to_v = nn.Linear(d_model, n_kv_heads * dim_head, bias=False)
        self.to_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        split = lambda t, h: t.unflatten(-1, (h, -1)).transpose(1, 2)
        q, k, v = split(self.to_q(x), self.heads), split(self.to_k(x), self.kv_heads), split(self.to_v(x), self.kv_heads)
        if cache is not None:
            ck, cv = cache
            k, v = torch.cat((ck, k), dim=-2), torch.cat((cv, v), dim=-2)
        times = self.heads // self.kv_heads
        kk, vv = k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1)
        sim = torch.einsum('b h i d, b h j d -> b h i j', q, kk) * self.scale
        i, j = sim.shape[-2:]
        causal_mask = torch.ones((i, j), dtype=torch.bool, device=x.device).triu(j - i + 1)
        sim = sim.masked_fill(causal_mask, -1e9)
        out = torch.einsum('b h i j, b h j d -> b h i d', sim.softmax(dim=-1), vv)
        return self.to_out(out.transpose(1, 2).flatten(-2)), (k, v)
