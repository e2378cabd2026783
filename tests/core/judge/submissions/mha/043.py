import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        assert self.d_h * n_heads == d_model
        self.q_map = nn.Linear(d_model, d_model)
        self.k_map = nn.Linear(d_model, d_model)
        self.v_map = nn.Linear(d_model, d_model)
        self.o_map = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, _ = x.shape
        split = (b, l, self.n_heads, self.d_h)
        q = self.q_map(x).reshape(split).transpose(1, 2).reshape(-1, l, self.d_h)
        k = self.k_map(x).reshape(split).transpose(1, 2).reshape(-1, l, self.d_h)
        v = self.v_map(x).reshape(split).transpose(1, 2).reshape(-1, l, self.d_h)
        s = torch.bmm(q, k.mT).view(b, self.n_heads, l, l) / self.d_h ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        s = s.flatten(2)
        w = F.softmax(s, dim=-1)
        w = w.view(-1, l, l)
        return self.o_map(torch.bmm(w, v).view(b, self.n_heads, l, -1).transpose(1, 2).flatten(2))
