import torch
import torch.nn as nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads")
        if d_rope % 2:
            raise ValueError("d_rope % 2")
        self.n_heads, self.d_h, self.d_rope = n_heads, d_model // n_heads, d_rope
        self.W_q = nn.Linear(d_model, n_heads * (self.d_h + d_rope))
        self.W_down = nn.Linear(d_model, d_latent)
        self.W_k = nn.Linear(d_latent, d_model)
        self.W_v = nn.Linear(d_latent, d_model)
        self.W_rope = nn.Linear(d_model, n_heads * d_rope)
        self.W_o = nn.Linear(d_model, d_model)

    def apply_rope(self, t, past):
        half = self.d_rope // 2
        theta = 10000 ** (-torch.arange(half, device=t.device).double() / half)
        m = torch.arange(past, past + t.size(2), device=t.device).double()
        cos, sin = (m[:, None] * theta).cos().to(t.dtype), (m[:, None] * theta).sin().to(t.dtype)
        return torch.cat([t[..., :half] * cos - t[..., half:] * sin, t[..., half:] * cos + t[..., :half] * sin], -1)

    def heads(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, cache=None):
        past = 0 if cache is None else cache[0].size(1)
        q_c, q_r = self.heads(self.W_q(x)).split([self.d_h, self.d_rope], dim=-1)
        q_r = self.apply_rope(q_r, past)
        latent = self.W_down(x)
        k_r = self.apply_rope(self.heads(self.W_rope(x)), past)
        if cache is not None:
            latent = torch.cat([cache[0], latent], dim=1)
            k_r = torch.cat([cache[1], k_r], dim=2)
        k_c, v = self.heads(self.W_k(latent)), self.heads(self.W_v(latent))
        q, k = torch.cat([q_c, q_r], -1), torch.cat([k_c, k_r], -1)
        scores = q @ k.transpose(-2, -1) / (self.d_h + self.d_rope) ** 0.5
        L, T = scores.shape[-2:]
        scores = scores.masked_fill(torch.ones(L, T, dtype=torch.bool, device=x.device).triu(T - L + 1), float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        return self.W_o(y), (latent, k_r)
