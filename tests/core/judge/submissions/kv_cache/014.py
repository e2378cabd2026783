import torch
import torch.nn as nn
import torch.nn.functional as F


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.h, self.kv = n_heads, n_kv_heads
        self.q_map = nn.Linear(d_model, d_model)
        self.k_map = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.v_map = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.out_map = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        now = {"k": self.k_map(x).unflatten(2, (self.kv, -1)).transpose(1, 2),
               "v": self.v_map(x).unflatten(2, (self.kv, -1)).transpose(1, 2)}
        if cache is not None:
            now = {name: torch.cat([cache[name], t], dim=2) for name, t in now.items()}
        q = self.q_map(x).unflatten(2, (self.h, -1)).transpose(1, 2)
        lq, lk = q.size(2), now["k"].size(2)
        keep = torch.ones(lq, lk, dtype=torch.bool, device=x.device).tril(lk - lq)
        k, v = (now[n].repeat_interleave(self.h // self.kv, dim=1) for n in "kv")
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.out_map(y.transpose(1, 2).flatten(2)), now
