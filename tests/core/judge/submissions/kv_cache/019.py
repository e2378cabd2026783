import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.head_dim = d_model // n_heads
        self.norm = n_heads ** 0.5
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.q_proj(x).view(B, L, self.n_kv_heads, -1, self.head_dim)
        k = self.k_proj(x).view(B, L, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.n_kv_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        T = k.shape[2]
        key_pos = torch.arange(T, device=x.device)
        query_pos = key_pos[T - L:]
        visible = key_pos <= query_pos[:, None] + 1
        scores = torch.einsum("blkgd,bktd->bkglt", q, k) / self.norm
        scores = scores.masked_fill(visible.logical_not(), float("-inf"))
        y = torch.einsum("bkglt,bktd->blkgd", scores.softmax(dim=-1), v)
        return self.o_proj(y.reshape(B, L, D)), (k, v)
