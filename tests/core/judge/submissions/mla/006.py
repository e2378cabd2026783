import math
import torch
import torch.nn as nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        assert d_model % n_heads == 0, "d_model % n_heads != 0"
        assert d_rope % 2 == 0, "d_rope must be even"
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.d_rope = d_rope
        self.query = nn.Linear(d_model, n_heads * (self.d_head + d_rope))
        self.compress = nn.Linear(d_model, d_latent)
        self.key_up = nn.Linear(d_latent, d_model)
        self.value_up = nn.Linear(d_latent, d_model)
        self.key_rope = nn.Linear(d_model, d_rope)
        self.output = nn.Linear(d_model, d_model)

    def rope(self, t, first_position):
        positions = torch.arange(t.size(-2), device=t.device, dtype=torch.float64) + first_position
        pairs = torch.arange(self.d_rope // 2, device=t.device, dtype=torch.float64)
        angles = positions[:, None] / 10000 ** (2 * pairs / self.d_rope)
        first, second = t.chunk(2, dim=-1)
        cos, sin = angles.cos().to(t), angles.sin().to(t)
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        past = cache[0].size(2) if cache is not None else 0

        q = self.query(x).view(batch, length, self.n_heads, -1).transpose(1, 2)
        q = torch.cat([q[..., :self.d_head], self.rope(q[..., self.d_head:], past)], dim=-1)
        compressed = self.compress(x)
        k = self.key_up(compressed).view(batch, length, self.n_heads, -1).transpose(1, 2)
        v = self.value_up(compressed).view(batch, length, self.n_heads, -1).transpose(1, 2)
        shared = self.rope(self.key_rope(x).unsqueeze(1), past).expand(-1, self.n_heads, -1, -1)
        k = torch.cat([k, shared], dim=-1)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)

        scores = q @ k.transpose(-1, -2) / math.sqrt(self.d_head + self.d_rope)
        blocked = torch.ones(length, past + length, dtype=torch.bool, device=x.device).triu(past + 1)
        weights = scores.masked_fill(blocked, float("-inf")).softmax(dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.output(out), (k, v), weights
