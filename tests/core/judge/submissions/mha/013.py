import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    """Input shape: Time x Batch x Channel"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.num_heads = n_heads
        self.head_dim = d_model // n_heads
        assert self.head_dim * n_heads == d_model
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def _shape(self, t, length, bsz):
        return t.contiguous().view(length, bsz * self.num_heads, self.head_dim).transpose(0, 1)

    def forward(self, x, mask=None):
        length, bsz, channels = x.size()
        q = self._shape(self.q_proj(x) * self.head_dim ** -0.5, length, bsz)
        k = self._shape(self.k_proj(x), length, bsz)
        v = self._shape(self.v_proj(x), length, bsz)
        w = torch.bmm(q, k.transpose(1, 2))
        if mask is not None:
            w = w.view(bsz, self.num_heads, length, length).masked_fill(mask == 0, float("-inf"))
            w = w.view(-1, length, length)
        w = F.softmax(w, dim=-1)
        o = torch.bmm(w, v).transpose(0, 1).contiguous().view(length, bsz, channels)
        return self.out_proj(o)
