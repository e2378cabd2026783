import torch
from torch import nn


class SlidingWindowAttention(nn.Module):
    BLOCK = 2

    def __init__(self, d_model, n_heads, window):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads, self.window = n_heads, window
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x):
        L = x.size(1)
        q, k, v = (w(x).unflatten(2, (self.n_heads, -1)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        pos = torch.arange(L, device=x.device)
        top = q.new_full((*q.shape[:3], 1), float("-inf"))
        den, num = torch.zeros_like(top), torch.zeros_like(q)
        for a in range(0, L, self.BLOCK):
            b = min(a + self.BLOCK, L)
            s = q @ k[:, :, a:b].mT / q.size(-1) ** 0.5
            gap = pos[:, None] - pos[a:b]
            s = s.masked_fill((gap < 0) | (gap >= self.window), float("-inf"))
            new_top = torch.maximum(top, s.amax(-1, keepdim=True))
            p, shrink = (s - new_top).exp(), (top - new_top).exp()
            den = den * shrink + p.sum(-1, keepdim=True)
            num = num * shrink + p @ v[:, :, a:b]
            top = new_top
        return self.wo((num / den).transpose(1, 2).flatten(2))
