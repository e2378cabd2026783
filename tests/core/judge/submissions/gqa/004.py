import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.d_k = d_model // n_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, n_kv_heads * self.d_k)
        self.v_linear = nn.Linear(d_model, n_kv_heads * self.d_k)
        self.out_linear = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        q = self.q_linear(x).view(batch, length, self.n_heads, self.d_k).transpose(1, 2)
        k = self.k_linear(x).view(batch, length, self.n_kv_heads, self.d_k).transpose(1, 2)
        v = self.v_linear(x).view(batch, length, self.n_kv_heads, self.d_k).transpose(1, 2)
        # every kv head serves several query heads
        copies = self.n_heads // self.n_kv_heads
        k = torch.cat([k] * copies, dim=1)
        v = torch.cat([v] * copies, dim=1)
        scores = q @ k.transpose(-2, -1) / self.d_k ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        out = scores.softmax(dim=-1) @ v
        return self.out_linear(out.transpose(1, 2).reshape(batch, length, -1))
