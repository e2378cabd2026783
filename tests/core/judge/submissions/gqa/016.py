import torch.nn.functional as F
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads != 0 or n_heads % n_kv_heads != 0:
            raise ValueError("cannot group the heads")
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        kv_dim = d_model // n_heads * n_kv_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, kv_dim)
        self.v = nn.Linear(d_model, kv_dim)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q = self.q(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        k = self.k(x).unflatten(-1, (self.n_kv_heads, -1)).transpose(1, 2)
        v = self.v(x).unflatten(-1, (self.n_kv_heads, -1)).transpose(1, 2)
        if mask is not None:
            mask = mask.bool()
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=q.size(1) != k.size(1))
        return self.o(y.transpose(1, 2).flatten(-2))
