"""Multi-head latent attention: DeepSeek-V2 (2024), section 2.1, without the compression of the queries.

The cache holds one short latent a token, from which the keys and values of every head are made again, and one rotary
key that all heads share: d_latent + d_rope numbers a token, where multi-head attention keeps 2 * H * d_h.
"""

import torch
from torch import nn


def rotate(t, start):
    """Turn t (B, heads, L, d_rope), whose first token stands at position `start`; same shape out."""
    L, d_rope = t.shape[-2:]
    frequency = 10000.0 ** (-torch.arange(0, d_rope, 2, dtype=torch.float64, device=t.device) / d_rope)
    position = torch.arange(start, start + L, dtype=torch.float64, device=t.device)  # (L,)
    angle = position[:, None] * frequency  # (L, d_rope / 2)
    cos, sin = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
    a, b = t.chunk(2, dim=-1)  # each (B, heads, L, d_rope / 2)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        if d_rope % 2:
            raise ValueError(f"d_rope = {d_rope} is odd, and features are turned in pairs")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.d_rope = d_rope
        self.w_q = nn.Linear(d_model, n_heads * (self.d_h + d_rope))
        self.w_down = nn.Linear(d_model, d_latent)
        self.w_k = nn.Linear(d_latent, d_model)
        self.w_v = nn.Linear(d_latent, d_model)
        self.w_rope = nn.Linear(d_model, d_rope)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        """x (B, L, d_model), the tokens that follow those in the cache; returns out (B, L, d_model) and the new cache.

        A cache is (latent, key_rope) of the T tokens so far: (B, T, d_latent) and (B, 1, T, d_rope), turned already.
        """
        B, L, d_model = x.shape
        start = 0 if cache is None else cache[0].size(1)
        T = start + L

        q = self.w_q(x).view(B, L, self.n_heads, self.d_h + self.d_rope).transpose(1, 2)  # (B, H, L, d_h + d_rope)
        q_content, q_rope = q.split((self.d_h, self.d_rope), dim=-1)
        q = torch.cat((q_content, rotate(q_rope, start)), dim=-1)  # (B, H, L, d_h + d_rope)

        latent = self.w_down(x)  # (B, L, d_latent)
        key_rope = rotate(self.w_rope(x).unsqueeze(1), start)  # (B, 1, L, d_rope)
        if cache is not None:
            latent = torch.cat((cache[0], latent), dim=1)  # (B, T, d_latent)
            key_rope = torch.cat((cache[1], key_rope), dim=2)  # (B, 1, T, d_rope)
        cache = (latent, key_rope)

        k_content = self.w_k(latent).view(B, T, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, T, d_h)
        v = self.w_v(latent).view(B, T, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, T, d_h)
        # All heads share the rotary key: expand shows it to each of them without a copy.
        k = torch.cat((k_content, key_rope.expand(-1, self.n_heads, -1, -1)), dim=-1)  # (B, H, T, d_h + d_rope)

        # The root of what a product of q and k adds up: both parts.
        scores = q @ k.transpose(-2, -1) / (self.d_h + self.d_rope) ** 0.5  # (B, H, L, T)
        allowed = torch.ones(L, T, dtype=torch.bool, device=x.device).tril(start)
        scores = scores.masked_fill(~allowed, float("-inf"))
        attn = scores.softmax(dim=-1)
        out = attn @ v  # (B, H, L, d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)
        return self.w_o(out), cache
