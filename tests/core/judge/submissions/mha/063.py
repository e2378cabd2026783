import torch
import torch.nn as nn


def softmax1(t, dim=-1):
    top = t.amax(dim=dim, keepdim=True).clamp(min=0)
    e = torch.exp(t - top)
    return e / (torch.exp(-top) + e.sum(dim=dim, keepdim=True))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.lin_qkv = nn.Linear(d_model, 3 * d_model)
        self.lin_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = self.lin_qkv(x).view(B, L, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        return self.lin_out((softmax1(s) @ v).transpose(1, 2).reshape(B, L, D))
