import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.lq = nn.Linear(d_model, d_model)
        self.lk = nn.Linear(d_model, d_model)
        self.lv = nn.Linear(d_model, d_model)
        self.lo = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        d = D // self.n_heads
        q = self.lq(x).view(B, L, self.n_heads, d)
        k = self.lk(x).view(B, L, self.n_heads, d)
        v = self.lv(x).view(B, L, self.n_heads, d)
        if mask is not None:
            mask = mask.bool().expand(B, self.n_heads, L, L)
        pieces = []
        for i in range(self.n_heads):
            qi = q[:, :, i:i + 1].squeeze()
            ki = k[:, :, i:i + 1].squeeze()
            vi = v[:, :, i:i + 1].squeeze()
            s = qi @ ki.transpose(-2, -1) / d ** 0.5
            if mask is not None:
                s = s.masked_fill(~mask[:, i], float("-inf"))
            pieces.append(s.softmax(-1) @ vi)
        return self.lo(torch.cat(pieces, dim=-1))
