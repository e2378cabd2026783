import torch
import torch.nn.functional as F
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("the sizes do not divide")
        self.h, self.kv, self.c = n_heads, n_kv_heads, d_model // n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, n_kv_heads * self.c, bias=False)
        self.wv = nn.Linear(d_model, n_kv_heads * self.c, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        q = self.wq(x).unflatten(-1, (self.h, self.c)).transpose(1, 2)
        k = self.wk(x).unflatten(-1, (self.kv, self.c)).transpose(1, 2)
        v = self.wv(x).unflatten(-1, (self.kv, self.c)).transpose(1, 2)
        prefill = cache is None
        if not prefill:
            k, v = (torch.cat(pair, dim=2) for pair in zip(cache, (k, v)))
        share = self.h // self.kv
        K, V = (t.repeat_interleave(share, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, K, V, is_causal=prefill)
        return self.wo(y.transpose(1, 2).flatten(2)), (k, v)
