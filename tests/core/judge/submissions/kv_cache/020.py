import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.query = nn.Linear(d_model, d_model)
        self.kv = nn.Linear(d_model, 2 * (d_model // n_heads) * n_kv_heads)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.query(x).view(B, L, self.n_kv_heads, self.n_heads // self.n_kv_heads, -1)
        k, v = self.kv(x).view(B, L, 2, self.n_kv_heads, -1).permute(2, 0, 3, 1, 4)
        past = 0
        if cache is not None:
            past = cache[0].shape[2]
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        rows = []
        for t in range(L):
            known = past + t + 1
            w = torch.einsum("bngd,bnsd->bngs", q[:, t], k[:, :, :known]).mul(q.shape[-1] ** -0.5).softmax(-1)
            rows.append(torch.einsum("bngs,bnsd->bngd", w, v[:, :, :known]).reshape(B, D))
        return self.dense(torch.stack(rows, 1)), (k, v)
