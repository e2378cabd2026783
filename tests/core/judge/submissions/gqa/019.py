import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.d_head = d_model // n_heads
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_k = nn.Linear(d_model, n_kv_heads * self.d_head, bias=False)
        self.to_v = nn.Linear(d_model, n_kv_heads * self.d_head, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        g = self.n_heads // self.n_kv_heads
        q = self.to_q(x).view(b, n, self.n_kv_heads, g, self.d_head)
        q = q.permute(0, 2, 3, 1, 4).reshape(b, self.n_kv_heads, g * n, self.d_head)
        k = self.to_k(x).view(b, n, self.n_kv_heads, self.d_head).permute(0, 2, 3, 1)
        v = self.to_v(x).view(b, n, self.n_kv_heads, self.d_head).permute(0, 2, 1, 3)
        sim = q @ k / self.d_head ** 0.5                                # (b, kv, g*n, n)
        if mask is not None:
            sim = sim.view(b, self.n_heads, n, n).masked_fill(mask == 0, float("-inf")).view_as(sim)
        out = sim.softmax(dim=-1) @ v
        out = out.view(b, self.n_heads, n, self.d_head).transpose(1, 2)
        return self.to_out(out.reshape(b, n, -1))
