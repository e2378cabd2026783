import torch
import torch.nn as nn
import torch.nn.functional as F


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0 and n_heads % n_kv_heads == 0
        self.h, self.kv = n_heads, n_kv_heads
        self.dh = d_model // n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, self.kv * self.dh, bias=False)
        self.v = nn.Linear(d_model, self.kv * self.dh, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q = self.q(x).view(B, L, self.h, self.dh)
        k = self.k(x).view(B, L, self.kv, self.dh).repeat_interleave(self.h // self.kv, dim=1)
        v = self.v(x).view(B, L, self.kv, self.dh).repeat_interleave(self.h // self.kv, dim=1)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        w = torch.matmul(q, k.transpose(-2, -1)) / self.dh ** 0.5
        if mask is not None:
            w = w.masked_fill(mask == 0, float("-inf"))
        return self.o((F.softmax(w, -1) @ v).transpose(1, 2).reshape(B, L, D))
