import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.d_h, r1 = divmod(d_model, n_heads)
        self.g, r2 = divmod(n_heads, n_kv_heads)
        if r1 or r2:
            raise ValueError("heads must divide d_model, and kv heads must divide heads")
        self.n, self.h = n_kv_heads, n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_kv = nn.Linear(d_model, 2 * n_kv_heads * self.d_h)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, d = x.shape
        q_t = self.to_q(x).mT.reshape(b * self.n, self.g, self.d_h, l)           # features before tokens
        k, v = (t.mT.reshape(b * self.n, 1, self.d_h, l) for t in self.to_kv(x).chunk(2, dim=-1))
        s_t = k.mT @ q_t / self.d_h ** 0.5                                      # (b*n, g, keys, queries)
        if mask is not None:
            keep_t = mask.bool().expand(b, self.h, l, l).mT.reshape(s_t.shape)
            s_t = s_t.masked_fill(~keep_t, float("-inf"))
        y_t = v @ s_t.softmax(dim=-2)                                           # (b*n, g, d_h, queries)
        return self.to_out(y_t.reshape(b, d, l).mT)
