import torch
import torch.nn as nn


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert (d_model // n_heads) % 2 == 0
        self.n_heads = n_heads
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, d_model)
        self.lin_v = nn.Linear(d_model, d_model)
        self.lin_out = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        bsz, seqlen, dim = x.shape
        shape = (bsz, seqlen, self.n_heads, dim // self.n_heads)
        start_pos = 0 if cache is None else cache[0].shape[2]
        xq, xk, xv = self.lin_q(x).view(shape), self.lin_k(x).view(shape), self.lin_v(x).view(shape)

        half = shape[-1] // 2
        inv = 10000.0 ** (-torch.arange(half, dtype=torch.float64, device=x.device) / half)
        t = torch.arange(start_pos, start_pos + seqlen, dtype=torch.float64, device=x.device)
        phase = torch.outer(t, inv)[:, None]                       # (L, 1, d_h/2)
        cos, sin = phase.cos().to(x.dtype), phase.sin().to(x.dtype)

        def rotate(u):
            lo, hi = u[..., :half], u[..., half:]
            return torch.cat([lo * cos + hi * sin, hi * cos - lo * sin], dim=-1)

        keys, values = rotate(xk).transpose(1, 2), xv.transpose(1, 2)
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=2)
            values = torch.cat([cache[1], values], dim=2)
        scores = torch.einsum("blhd,bhtd->bhlt", rotate(xq), keys) / shape[-1] ** 0.5
        late = torch.arange(keys.size(2), device=x.device) > start_pos + torch.arange(seqlen, device=x.device)[:, None]
        probs = scores.masked_fill(late, float("-inf")).softmax(dim=-1)
        out = torch.einsum("bhlt,bhtd->blhd", probs, values)
        return self.lin_out(out.reshape(bsz, seqlen, dim)), (keys, values)
