import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.group = n_heads // n_kv_heads
        self.kv = n_kv_heads
        self.size = d_model // n_heads
        inner = self.kv * self.group * self.size
        self.wq = nn.Linear(d_model, inner)
        self.wk = nn.Linear(d_model, self.kv * self.size)
        self.wv = nn.Linear(d_model, self.kv * self.size)
        self.wo = nn.Linear(inner, d_model)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        q = self.wq(x).view(B, L, self.kv, self.group, self.size)
        k = self.wk(x).view(B, L, self.kv, self.size)
        v = self.wv(x).view(B, L, self.kv, self.size)
        s = torch.einsum("bikgc,bjkc->bkgij", q, k) / self.size ** 0.5
        if mask is not None:
            m = mask.bool().expand(B, self.kv * self.group, L, L).unflatten(1, (self.kv, self.group))
            s = s.masked_fill(~m, float("-inf"))
        y = torch.einsum("bkgij,bjkc->bikgc", s.softmax(-1), v)
        return self.wo(y.flatten(2))
