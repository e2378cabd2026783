import torch
from torch import nn


def turn(t, first):
    """(B, H, L, d_h), position of the first token -> the same, rotated."""
    half = t.shape[-1] // 2
    wide = t.double()
    z = torch.complex(wide[..., :half], wide[..., half:])
    freq = 10000 ** (-torch.arange(half, device=t.device, dtype=torch.float64) / half)
    pos = torch.arange(first, first + t.shape[-2], device=t.device, dtype=torch.float64)
    angle = pos[:, None] * freq
    z = z * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], dim=-1).to(t.dtype)


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % (2 * n_heads) == 0
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        first = cache[0].size(2) if cache else 0
        q, k = turn(q, first), turn(k, first)
        if cache:
            k, v = (torch.cat(pair, dim=2) for pair in zip(cache, (k, v)))
        scores = q @ k.mT * q.size(-1) ** -0.5
        rows, cols = scores.shape[-2:]
        future = torch.ones(rows, cols, dtype=torch.bool, device=x.device).triu(1 + first)
        y = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).flatten(2)), (k, v)
