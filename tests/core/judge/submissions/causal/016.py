import torch
import torch.nn as nn


class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(nx, nf) * 0.02)
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        return x @ self.weight + self.bias


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_head = n_heads
        self.masked_bias = -1e10
        self.c_attn = Conv1D(3 * d_model, d_model)
        self.c_proj = Conv1D(d_model, d_model)

    def split_heads(self, t, k=False):
        t = t.view(*t.size()[:-1], self.n_head, t.size(-1) // self.n_head)
        return t.permute(0, 2, 3, 1) if k else t.permute(0, 2, 1, 3)

    def forward(self, x):
        query, key, value = self.c_attn(x).chunk(3, dim=2)
        w = torch.matmul(self.split_heads(query), self.split_heads(key, k=True))
        nd, ns = w.size(-2), w.size(-1)
        hidden = torch.ones(nd, ns, dtype=torch.bool, device=w.device).triu(ns - nd + 1)
        w = w.masked_fill(hidden, self.masked_bias)
        w = nn.Softmax(dim=-1)(w)
        a = torch.matmul(w, self.split_heads(value)).permute(0, 2, 1, 3)
        return self.c_proj(a.reshape(x.shape))
