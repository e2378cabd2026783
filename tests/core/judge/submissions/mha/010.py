import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, 'heads must divide the embedding'
        self.heads = n_heads
        self.s = d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.unify = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, t, e = x.size()
        h, s = self.heads, self.s

        queries, keys, values = self.qkv(x).split(e, -1)
        queries = queries.view(b, t, s, h).permute(0, 3, 1, 2)
        keys = keys.view(b, t, s, h).permute(0, 3, 1, 2)
        values = values.view(b, t, s, h).permute(0, 3, 1, 2)

        dot = queries @ keys.transpose(2, 3)
        dot = dot / (s ** (1 / 2))
        if mask is not None:
            dot = dot.masked_fill(mask == 0, float('-inf'))
        dot = F.softmax(dot, dim=3)
        out = (dot @ values).transpose(1, 2).contiguous().view(b, t, s * h)
        return self.unify(out)
