import torch
from torch import nn


class CachedAttention(nn.Module):
    """One token after the other: no mask at all."""

    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.kv, self.group = n_kv_heads, n_heads // n_kv_heads
        self.d_h = d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, n_kv_heads * self.d_h)
        self.v = nn.Linear(d_model, n_kv_heads * self.d_h)
        self.o = nn.Linear(d_model, d_model)

    def step(self, token, keys, values):
        q = self.q(token).view(-1, self.kv, self.group, self.d_h)
        k = self.k(token).view(-1, self.kv, 1, self.d_h)
        v = self.v(token).view(-1, self.kv, 1, self.d_h)
        keys = k if keys is None else torch.cat([keys, k], dim=2)
        values = v if values is None else torch.cat([values, v], dim=2)
        attn = torch.softmax(q @ keys.mT / self.d_h ** 0.5, dim=-1)      # (B, kv, G, T)
        return self.o((attn @ values).flatten(1)), keys, values

    def forward(self, x, cache=None):
        keys, values = cache if cache is not None else (None, None)
        outs = []
        for t in range(x.shape[1]):
            y, keys, values = self.step(x[:, t], keys, values)
            outs.append(y)
        return torch.stack(outs, dim=1), (keys, values)
