import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        assert d_model % n_heads == 0, "indivisible"
        self.n_heads = n_heads
        self.dropout = dropout
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        shape = (*x.shape[:-1], self.n_heads, -1)
        q, k, v = self.q(x).view(shape), self.k(x).view(shape), self.v(x).view(shape)
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
            attn_mask=None if mask is None else mask.bool(),
            dropout_p=self.dropout,
        )
        return self.proj(y.transpose(1, 2).flatten(-2))
