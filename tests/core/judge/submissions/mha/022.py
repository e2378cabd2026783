import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(s, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        s.h, s.qkv, s.o = n_heads, nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(s, x, mask=None):
        q, k, v = s.qkv(x).unflatten(-1, (3, s.h, -1)).unbind(2)
        a = torch.einsum("bihd,bjhd->bhij", q / k.size(-1) ** .5, k)
        a = a if mask is None else a + mask.to(a.dtype).log()
        return s.o(torch.einsum("bhij,bjhd->bihd", a.softmax(-1), v).flatten(2))
