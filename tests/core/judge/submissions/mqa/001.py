import torch
import torch.nn as nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("`hidden_size` must be divisible by `num_heads`")
        self.num_heads = n_heads
        self.head_dim = d_model // n_heads
        self.c_attn = nn.Linear(d_model, d_model + 2 * self.head_dim)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        query, key, value = self.c_attn(x).split((D, self.head_dim, self.head_dim), dim=-1)
        query = query.reshape(B, L * self.num_heads, self.head_dim)
        scores = torch.bmm(query, key.transpose(1, 2)) / self.head_dim ** 0.5
        scores = scores.view(B, L, self.num_heads, L)
        if mask is not None:
            hidden = (mask == 0).expand(B, self.num_heads, L, L).transpose(1, 2)
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = scores.softmax(dim=-1).view(B, L * self.num_heads, L)
        return self.c_proj(torch.bmm(weights, value).view(B, L, D))
