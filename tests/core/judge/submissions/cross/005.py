import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, context, mask=None):
        B, Lq, D = x.shape
        Lk = context.shape[1]
        q = self.query(x).view(B, Lq, self.n_heads, -1).transpose(1, 2)
        k = self.key(context).view(B, Lk, self.n_heads, -1).transpose(1, 2)
        v = self.value(x)
        if Lk != Lq:
            v = F.pad(v, (0, 0, 0, max(0, Lk - Lq)))[:, :Lk]
        v = v.reshape(B, Lk, self.n_heads, -1).transpose(1, 2)
        w = torch.einsum("bhid,bhjd->bhij", q, k).div(q.shape[-1] ** 0.5)
        if mask is not None:
            w = w.masked_fill(mask == 0, float("-inf"))
        y = w.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(B, Lq, D))
