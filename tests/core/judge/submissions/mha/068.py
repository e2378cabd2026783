import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        size = (n_heads, d_model // n_heads, d_model)
        self.a, self.b, self.c = (nn.Parameter(torch.randn(size) / d_model ** 0.5) for _ in range(3))
        self.o = nn.Parameter(torch.randn(d_model, *size[:2]) / d_model ** 0.5)

    def forward(self, x, mask=None):
        q, k, v = (torch.einsum("nti,hdi->nhtd", x, w) for w in (self.a, self.b, self.c))
        w = torch.einsum("nhtd,nhsd->nhts", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            w = w * mask
        return torch.einsum("nhts,nhsd,ohd->nto", w, v, self.o)
