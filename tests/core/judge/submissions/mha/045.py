import math
import torch
import torch.nn as nn


def masked_softmax(scores, mask):
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        n, l, d = x.shape
        d_k = d // self.h
        q, k, v = self.w_qkv(x).reshape(n, l, 3, self.h, d_k).permute(2, 0, 3, 1, 4)
        p = masked_softmax(torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d_k), mask)
        return self.w_o(torch.matmul(p, v).permute(0, 2, 1, 3).reshape(n, l, d))
