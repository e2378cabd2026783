import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads")
        if n_heads % n_kv_heads:
            raise ValueError("n_heads % n_kv_heads")
        self.H, self.K, self.dh = n_heads, n_kv_heads, d_model // n_heads
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, self.K * self.dh)
        self.lin_v = nn.Linear(d_model, self.K * self.dh)
        self.lin_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        G = self.H // self.K
        q = self.lin_q(x).view(B, L, self.K, G, self.dh).mean(dim=3)
        k = self.lin_k(x).view(B, L, self.K, self.dh)
        v = self.lin_v(x).view(B, L, self.K, self.dh)
        s = torch.einsum("bqgd,bkgd->bgqk", q, k) / self.dh ** 0.5
        if mask is not None:
            m = mask.expand(B, self.H, L, L)[:, ::G]
            s = s.masked_fill(m == 0, float("-inf"))
        o = torch.einsum("bgqk,bkgd->bqgd", s.softmax(-1), v)
        o = o.unsqueeze(3).expand(B, L, self.K, G, self.dh)
        return self.lin_o(o.reshape(B, L, D))
