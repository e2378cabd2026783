import torch
import torch.nn.functional as F
from torch import nn


class SlidingWindowAttention(nn.Module):
    """No (L, L) matrix: memory grows with L * window."""

    def __init__(self, d_model, n_heads, window):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.window = window
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)

    def strips(self, t):
        return F.pad(t, (0, 0, self.window - 1, 0)).unfold(2, self.window, 1)   # (B, H, L, d_h, window)

    def forward(self, x):
        q, k, v = (w(x).unflatten(2, (self.n_heads, -1)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        s = torch.einsum("bhld,bhldw->bhlw", q, self.strips(k)) * q.size(-1) ** -0.5
        L = x.size(1)
        source = torch.arange(L, device=x.device)[:, None] - torch.arange(self.window - 1, -1, -1, device=x.device)
        s = s.masked_fill(source < 0, float("-inf"))
        y = torch.einsum("bhlw,bhldw->blhd", s.softmax(-1), self.strips(v))
        return self.wo(y.flatten(2))
