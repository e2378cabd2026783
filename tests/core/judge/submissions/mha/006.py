import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Mesh-TensorFlow / T5X like: every weight knows its heads."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        d_kv, rest = divmod(d_model, n_heads)
        assert rest == 0, "n_heads has to divide d_model"
        std = d_model ** -0.5
        self.query = nn.Parameter(torch.randn(n_heads, d_model, d_kv) * std)
        self.key = nn.Parameter(torch.randn(n_heads, d_model, d_kv) * std)
        self.value = nn.Parameter(torch.randn(n_heads, d_model, d_kv) * std)
        self.out = nn.Parameter(torch.randn(n_heads, d_kv, d_model) * std)
        self.d_kv = d_kv

    def forward(self, x, mask=None):
        q = torch.einsum("bqm,hmd->hbqd", x, self.query)
        k = torch.einsum("bkm,hmd->hbkd", x, self.key)
        v = torch.einsum("bkm,hmd->hbkd", x, self.value)
        s = torch.einsum("hbqd,hbkd->bhqk", q, k).div(self.d_kv ** 0.5)
        if mask is not None:
            s.masked_fill_(mask == 0, -torch.inf)
        p = torch.softmax(s, -1)
        return torch.einsum("bhqk,hbkd,hdm->bqm", p, v, self.out)
