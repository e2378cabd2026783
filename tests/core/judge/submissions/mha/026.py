import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n, self.d = n_heads, d_model // n_heads
        self.lin_q = nn.Linear(d_model, d_model, bias=False)
        self.lin_k = nn.Linear(d_model, d_model, bias=False)
        self.lin_v = nn.Linear(d_model, d_model, bias=False)
        self.lin_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        b, l, _ = x.shape
        if mask is not None:
            mask = mask.expand(b, self.n, l, l)
        total = 0
        for i in range(self.n):
            rows = slice(i * self.d, (i + 1) * self.d)
            q = F.linear(x, self.lin_q.weight[rows])
            k = F.linear(x, self.lin_k.weight[rows])
            v = F.linear(x, self.lin_v.weight[rows])
            w = F.softmax(q @ k.transpose(1, 2) / self.d ** 0.5, dim=-1)
            if mask is not None:
                w = w * mask[:, i].to(w.dtype)
            total = total + F.linear(w @ v, self.lin_o.weight[:, rows])
        return total
