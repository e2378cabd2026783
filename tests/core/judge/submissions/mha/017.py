import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width, head_width):
        super().__init__()
        self.q = nn.Linear(width, head_width, bias=False)
        self.k = nn.Linear(width, head_width, bias=False)
        self.v = nn.Linear(width, head_width, bias=False)

    def forward(self, x, hidden):
        q, k, v = self.q(x), self.k(x), self.v(x)
        s = torch.einsum("bqc,bkc->bqk", q, k) / q.shape[-1] ** 0.5
        if hidden is not None:
            s = s.masked_fill(hidden, float("-inf"))
        return torch.einsum("bqk,bkc->bqc", s.softmax(-1), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("cannot share d_model out among the heads")
        self.heads = nn.ModuleList(Head(d_model, d_model // n_heads) for _ in range(n_heads))
        self.mix = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        n = len(self.heads)
        if mask is None:
            hidden = [None] * n
        else:
            hidden = (mask == 0).expand(x.size(0), n, x.size(1), x.size(1)).unbind(1)
        return self.mix(torch.cat([head(x, hide) for head, hide in zip(self.heads, hidden)], dim=-1))
