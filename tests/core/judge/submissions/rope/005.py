import torch
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0 or (d_model // n_heads) % 2 != 0:
            raise ValueError("bad sizes")
        self.heads = n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, d_model)
        self.to_v = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def apply_rotary(self, t, start):
        d = t.shape[-1]
        inv_freq = 1.0 / 10000 ** (torch.arange(0, d, 2, device=t.device, dtype=t.dtype) / d)
        pos = torch.arange(start, start + t.shape[-2], device=t.device, dtype=t.dtype)
        freqs = torch.einsum("i,j->ij", pos, inv_freq).repeat_interleave(2, dim=-1)
        x1, x2 = t.chunk(2, dim=-1)
        rotated = torch.cat((-x2, x1), dim=-1)
        return t * freqs.cos() + rotated * freqs.sin()

    def forward(self, x, cache=None):
        b, n, d = x.shape
        past = 0 if cache is None else cache[0].shape[-2]
        q, k, v = (
            self.apply_rotary(f(x).view(b, n, self.heads, -1).transpose(1, 2), past)
            for f in (self.to_q, self.to_k, self.to_v)
        )
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=-2), torch.cat((cache[1], v), dim=-2)
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        i, j = sim.shape[-2:]
        sim = sim.masked_fill(torch.ones(i, j, device=x.device).triu(j - i + 1).bool(), float("-inf"))
        out = torch.einsum("bhij,bhjd->bihd", sim.softmax(dim=-1), v)
        return self.to_out(out.reshape(b, n, d)), (k, v)
