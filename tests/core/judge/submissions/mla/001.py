import torch
import torch.nn as nn


def rotate(t, start):
    half = t.shape[-1] // 2
    freqs = 10000.0 ** (-torch.arange(half, dtype=torch.float64, device=t.device) / half)
    pos = torch.arange(start, start + t.shape[-2], dtype=torch.float64, device=t.device)
    ang = torch.outer(pos, freqs)
    cos, sin = ang.cos().to(t.dtype), ang.sin().to(t.dtype)
    a, b = t.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        if d_model % n_heads or d_rope % 2:
            raise ValueError("d_model must be a multiple of n_heads, and d_rope even")
        self.n_heads = n_heads
        self.nope_dim, self.rope_dim = d_model // n_heads, d_rope
        self.softmax_scale = (self.nope_dim + d_rope) ** -0.5
        self.q_proj = nn.Linear(d_model, n_heads * (self.nope_dim + d_rope), bias=False)
        self.kv_a_proj = nn.Linear(d_model, d_latent, bias=False)
        self.k_b_proj = nn.Linear(d_latent, d_model, bias=False)
        self.v_b_proj = nn.Linear(d_latent, d_model, bias=False)
        self.k_rope_proj = nn.Linear(d_model, d_rope, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        bsz, q_len, _ = x.shape
        start = 0 if cache is None else cache[0].shape[1]
        q = self.q_proj(x).view(bsz, q_len, self.n_heads, -1).transpose(1, 2)
        q_nope, q_pe = q.split([self.nope_dim, self.rope_dim], dim=-1)
        q = torch.cat([q_nope, rotate(q_pe, start)], dim=-1)

        latent = self.kv_a_proj(x)
        k_pe = rotate(self.k_rope_proj(x).unsqueeze(1), start)
        if cache is not None:
            latent = torch.cat([cache[0], latent], dim=1)
            k_pe = torch.cat([cache[1], k_pe], dim=2)

        k_nope = self.k_b_proj(latent).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        value = self.v_b_proj(latent).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        key = torch.cat([k_nope, k_pe.expand(-1, self.n_heads, -1, -1)], dim=-1)
        scores = q @ key.mT * self.softmax_scale
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(start + 1)
        out = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ value
        return self.o_proj(out.transpose(1, 2).flatten(2)), (latent, k_pe)
