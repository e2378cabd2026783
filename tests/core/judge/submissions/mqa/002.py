import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Shazeer (2019), "Fast Transformer Decoding: One Write-Head is All You Need"."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.p_q = nn.Linear(d_model, d_model, bias=False)
        self.p_k = nn.Linear(d_model, d_model // n_heads, bias=False)
        self.p_v = nn.Linear(d_model, d_model // n_heads, bias=False)
        self.p_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        Q = self.p_q(x).unflatten(-1, (self.h, -1))
        K, V = self.p_k(x), self.p_v(x)
        logits = torch.einsum("bnhk,bmk->bhnm", Q, K) / K.shape[-1] ** 0.5
        if mask is not None:
            logits = logits.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(logits, dim=-1)
        O = torch.einsum("bhnm,bmv->bnhv", weights, V)
        return self.p_o(O.flatten(-2))
