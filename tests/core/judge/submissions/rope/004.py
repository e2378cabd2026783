import torch
import torch.nn as nn


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert d_model // n_heads % 2 == 0
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.proj = nn.Linear(d_model, d_model)

    def rotary(self, t):
        half = t.size(-1) // 2
        theta = 10000.0 ** (torch.arange(half, device=t.device, dtype=t.dtype) / -half)
        m = torch.arange(t.size(2), device=t.device, dtype=t.dtype)
        cos, sin = torch.cos(m[:, None] * theta), torch.sin(m[:, None] * theta)
        left, right = t[..., :half], t[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q, k, v = (f(x).view(B, L, self.n_heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        q, k = self.rotary(q), self.rotary(k)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        T = k.size(2)
        att = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        att = att.masked_fill(torch.ones(L, T, dtype=torch.bool, device=x.device).triu(T - L + 1), float("-inf"))
        y = att.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, L, D)), (k, v)
