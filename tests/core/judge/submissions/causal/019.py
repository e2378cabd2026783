import torch
from torch import nn, einsum


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        d_h = d_model // n_heads

        def weight(*size):
            return nn.Parameter(torch.randn(*size) * d_model ** -0.5)

        self.wq, self.wk, self.wv = (weight(n_heads, d_h, d_model) for _ in range(3))
        self.wo = weight(d_model, n_heads, d_h)

    def forward(self, x):
        q, k, v = (einsum("btm,hem->bhte", x, w) for w in (self.wq, self.wk, self.wv))
        pos = torch.arange(x.size(1), device=x.device)
        distance = pos[:, None] - pos[None, :]
        scores = einsum("bhte,bhse->bhts", q, k) * q.size(-1) ** -0.5
        scores = scores - distance.clamp(min=0)
        scores = scores.masked_fill(distance < 0, float("-inf"))
        return einsum("bhts,bhse,mhe->btm", scores.softmax(-1), v, self.wo)
