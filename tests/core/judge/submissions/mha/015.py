import torch
from torch import nn


def exists(val):
    return val is not None


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = n_heads
        self.scale = (d_model // n_heads) ** -0.5
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        h = self.heads
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: t.reshape(b, n, h, d // h).transpose(1, 2), qkv)
        dots = torch.einsum('bhid,bhjd->bhij', q, k) * self.scale
        if exists(mask):
            dots = dots.masked_fill(mask == 0, float('-inf'))
        attn = dots.softmax(dim=-1)
        out = torch.matmul(attn, v)
        out = out.transpose(1, 2).view(b, n, d)
        return self.to_out(out)
