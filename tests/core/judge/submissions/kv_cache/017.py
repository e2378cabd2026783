import torch
from torch import nn, einsum


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        d_h, left = divmod(d_model, n_heads)
        self.group, over = divmod(n_heads, n_kv_heads)
        assert left == 0 and over == 0
        self.Q = nn.Parameter(torch.randn(n_heads, d_model, d_h) * d_model ** -0.5)
        self.K = nn.Parameter(torch.randn(n_kv_heads, d_model, d_h) * d_model ** -0.5)
        self.V = nn.Parameter(torch.randn(n_kv_heads, d_model, d_h) * d_model ** -0.5)
        self.O = nn.Parameter(torch.randn(n_heads, d_h, d_model) * d_model ** -0.5)

    def forward(self, x, cache=None):
        q = einsum("blm,hmd->bhld", x, self.Q).unflatten(1, (-1, self.group))
        k = einsum("blm,nmd->bnld", x, self.K)
        v = einsum("blm,nmd->bnld", x, self.V)
        if cache:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        scores = einsum("bngld,bntd->bnglt", q, k) * k.shape[-1] ** -0.5
        ahead = k.shape[2] - x.shape[1]
        scores = scores + torch.full_like(scores[0, 0, 0], float("-inf")).triu(1 + ahead)
        mix = einsum("bnglt,bntd->bngld", scores.softmax(-1), v).flatten(1, 2)
        return einsum("bhld,hdm->blm", mix, self.O), (k, v)
