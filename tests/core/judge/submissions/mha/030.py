import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        n, t, c = x.shape
        heads = lambda z: z.reshape(n, self.h, t, -1)
        if mask is not None:
            mask = mask.to(torch.bool)
        y = sdpa(heads(self.q(x)), heads(self.k(x)), heads(self.v(x)), attn_mask=mask)
        return self.o(y.transpose(1, 2).reshape(n, t, c))
