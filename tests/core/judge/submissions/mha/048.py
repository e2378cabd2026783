import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        d_h, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError("d_model must be a multiple of n_heads")
        self.proj = nn.Parameter(torch.randn(3, n_heads, d_model, d_h) * d_model ** -0.5)
        self.w_o = nn.Parameter(torch.randn(n_heads, d_h, d_h) * d_h ** -0.5)

    def forward(self, x, mask=None):
        q, k, v = torch.einsum("blm,nhmd->nbhld", x, self.proj)
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = torch.where(mask.bool(), s, -torch.inf)
        o = torch.einsum("bhqk,bhkd->bhqd", s.softmax(-1), v)
        o = torch.einsum("bhqd,hde->bqhe", o, self.w_o)
        return o.flatten(2)
