import torch
import torch.nn as nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model // n_heads)
        self.value = nn.Linear(d_model, d_model // n_heads)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, d = x.shape
        c = d // self.h
        q = self.query(x).view(b, l, self.h, c).transpose(1, 2).reshape(b * self.h, l, c)
        k = self.key(x)[:, None].expand(b, self.h, l, c).view(b * self.h, l, c)
        v = self.value(x)[:, None].expand(b, self.h, l, c).view(b * self.h, l, c)
        s = torch.bmm(q, k.transpose(1, 2)).view(b, self.h, l, l) / c ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        o = torch.bmm(s.softmax(-1).view(b * self.h, l, l), v)
        return self.output(o.view(b, self.h, l, c).transpose(1, 2).reshape(b, l, d))
