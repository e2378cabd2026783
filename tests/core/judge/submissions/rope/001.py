import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_half(t):
    a, b = t.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads or (d_model // n_heads) % 2:
            raise ValueError("d_model must split into heads of an even size")
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def tables(self, start, stop, like):
        powers = torch.arange(0, self.head_dim, 2, device=like.device, dtype=torch.float64) / self.head_dim
        angles = torch.outer(torch.arange(start, stop, device=like.device, dtype=torch.float64), 10000.0 ** -powers)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q, k, v = (p(x).view(B, L, self.n_heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        past = 0 if cache is None else cache[0].shape[2]
        cos, sin = self.tables(past, past + L, q)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        seen = torch.ones(L, past + L, dtype=torch.bool, device=x.device).tril(past)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o_proj(y.transpose(1, 2).reshape(B, L, D)), (k, v)
