import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_head = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        residual = x
        bs, sl, hid = x.shape
        q, k, v = (lin(x).view(bs, sl, self.n_head, -1).permute(0, 2, 1, 3) for lin in (self.query, self.key, self.value))
        a = torch.matmul(q, k.permute(0, 1, 3, 2)).div(math.sqrt(hid // self.n_head))
        if mask is not None:
            a = a.masked_fill(mask == 0, float("-inf"))
        c = torch.matmul(torch.softmax(a, dim=-1), v).permute(0, 2, 1, 3).reshape(bs, sl, hid)
        return self.dense(c) + residual
