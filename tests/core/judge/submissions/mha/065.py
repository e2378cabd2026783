import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, d = x.shape
        dh = d // self.n_heads
        qs = self.wq(x).split(dh, dim=-1)
        ks = self.wk(x).split(dh, dim=-1)
        vs = self.wv(x).split(dh, dim=-1)
        if mask is not None:
            mask = mask.expand(b, self.n_heads, l, l)
        outs = []
        for h, (q, k, v) in enumerate(zip(qs, ks, vs)):
            s = q @ k.mT / dh ** 0.5
            if mask is not None:
                s = s.masked_fill(mask[:, h] == 0, float("-inf"))
                mask = None
            outs.append(s.softmax(dim=-1) @ v)
        return self.wo(torch.cat(outs, dim=-1))
