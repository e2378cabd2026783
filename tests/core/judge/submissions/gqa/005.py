import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads != 0 or n_heads % n_kv_heads != 0:
            raise ValueError("sizes must divide")
        d_h = d_model // n_heads
        self.root = d_h ** 0.5
        self.n_kv_heads = n_kv_heads
        self.q = nn.ModuleList(nn.Linear(d_model, d_h) for _ in range(n_heads))
        self.k = nn.ModuleList(nn.Linear(d_model, d_h) for _ in range(n_kv_heads))
        self.v = nn.ModuleList(nn.Linear(d_model, d_h) for _ in range(n_kv_heads))
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        keys = [f(x) for f in self.k]
        values = [f(x) for f in self.v]
        if mask is not None:
            mask = mask.expand(B, len(self.q), L, L)
        outs = []
        for h, f in enumerate(self.q):
            shared = h % self.n_kv_heads
            s = f(x) @ keys[shared].transpose(1, 2) / self.root
            if mask is not None:
                s = s.masked_fill(mask[:, h] == 0, float("-inf"))
            outs.append(s.softmax(dim=-1) @ values[shared])
        return self.o(torch.cat(outs, dim=-1))
