import math
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.num_heads = n_heads
        self.head_dim = d_model // n_heads
        if self.head_dim * n_heads != d_model:
            raise ValueError(f"`d_model` must be divisible by `n_heads` (got {d_model} and {n_heads}).")
        self.inv_norm_factor = 1.0 / math.sqrt(self.head_dim)
        self.query_key_value = nn.Linear(d_model, 3 * d_model, bias=True)
        self.dense = nn.Linear(d_model, d_model)

    def _split_heads(self, fused_qkv):
        b, l, _ = fused_qkv.shape
        fused_qkv = fused_qkv.view(b, l, self.num_heads, 3, self.head_dim)
        return fused_qkv[..., 0, :], fused_qkv[..., 1, :], fused_qkv[..., 2, :]

    def forward(self, x, mask=None):
        b, l, d = x.shape
        n = b * self.num_heads
        query, key, value = self._split_heads(self.query_key_value(x))
        query = query.transpose(1, 2).reshape(n, l, self.head_dim)
        key = key.permute(0, 2, 3, 1).reshape(n, self.head_dim, l)
        value = value.transpose(1, 2).reshape(n, l, self.head_dim)

        alibi_like = query.new_zeros(n, l, l)
        scores = torch.baddbmm(alibi_like, query, key, beta=0.0, alpha=self.inv_norm_factor)
        scores = scores.view(b, self.num_heads, l, l)
        if mask is not None:
            scores = torch.masked_fill(scores, mask == 0, torch.finfo(scores.dtype).min)
        probs = torch.softmax(scores, dim=-1).view(n, l, l)
        context = torch.bmm(probs, value).view(b, self.num_heads, l, self.head_dim)
        return self.dense(context.permute(0, 2, 1, 3).reshape(b, l, d))
