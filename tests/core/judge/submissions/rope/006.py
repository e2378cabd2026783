import torch
import torch.nn as nn


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.d = d_model // n_heads
        assert self.d % 2 == 0
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def rope(self, t, offset):
        freq = 10000.0 ** (-torch.arange(0, self.d, 2, device=t.device, dtype=torch.float64) / self.d)
        where = torch.arange(t.size(1), device=t.device) + offset
        angle = (where[:, None] * freq)[None, :, None, :]
        cos, sin = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
        a, b = t.split(self.d // 2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    def forward(self, x, cache=None):
        q = self.wq(x).unflatten(2, (self.h, self.d)).transpose(1, 2)
        k = self.wk(x).unflatten(2, (self.h, self.d)).transpose(1, 2)
        v = self.wv(x).unflatten(2, (self.h, self.d)).transpose(1, 2)
        done = 0
        if cache is not None:
            done = cache[0].size(2)
        q, k = self.rope(q, done), self.rope(k, done)
        if cache is not None:
            k = torch.cat((cache[0], k), 2)
            v = torch.cat((cache[1], v), 2)
        s = q.matmul(k.transpose(2, 3)).div(self.d ** 0.5)
        keep = torch.ones(s.shape[-2:], dtype=torch.bool, device=x.device).tril(done)
        s = s.where(keep, float("-inf"))
        return self.wo(s.softmax(3).matmul(v).transpose(1, 2).flatten(2)), (k, v)
