import torch
from torch import nn, einsum


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.):
        super().__init__()
        dim_head = d_model // n_heads
        assert dim_head * n_heads == d_model
        project_out = not (n_heads * dim_head == d_model)
        self.heads = n_heads
        self.scale = dim_head ** -0.5
        self.attend = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.to_qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model), nn.Dropout(dropout)) if project_out else nn.Identity()

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in self.to_qkv(x).chunk(3, dim=-1))
        dots = einsum('b i h d, b j h d -> b h i j', q, k) * self.scale
        if mask is not None:
            dots.masked_fill_(~mask.bool(), -torch.finfo(dots.dtype).max)
        attn = self.dropout(self.attend(dots))
        out = einsum('b h i j, b j h d -> b i h d', attn, v).reshape(b, n, -1)
        return self.to_out(out)
