import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, attn_dropout=0.1):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("The model's width must be a multiple of the number of heads.")
        self.n_heads = n_heads
        self.p = attn_dropout
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        keep = mask if mask is None else mask.bool()
        q, k, v = [f(x).unflatten(2, (self.n_heads, -1)).permute(0, 2, 1, 3) for f in (self.q, self.k, self.v)]
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, keep, p)
        return self.o(y.permute(0, 2, 1, 3).reshape_as(x))
