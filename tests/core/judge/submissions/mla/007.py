import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        assert d_model % n_heads == 0
        assert d_rope % 2 == 0
        self.H, self.D, self.R = n_heads, d_model // n_heads, d_rope
        self.q = nn.Linear(d_model, n_heads * (self.D + d_rope), bias=False)
        self.dkv = nn.Linear(d_model, d_latent, bias=False)
        self.ukv = nn.Linear(d_latent, 2 * d_model, bias=False)
        self.kr = nn.Linear(d_model, d_rope, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def spin(self, t, p):
        w = 1e4 ** (-torch.arange(self.R // 2, device=t.device).double() * 2 / self.R)
        a = (p.double()[:, None] * w).repeat(1, 2)
        swapped = torch.roll(t, self.R // 2, dims=-1)
        sign = torch.ones(self.R, device=t.device).double()
        sign[: self.R // 2] = -1
        return t * a.cos().to(t.dtype) + swapped * (a.sin() * sign).to(t.dtype)

    def forward(self, x, cache=None):
        B, L, _ = x.shape
        c, r = self.dkv(x), self.kr(x).unsqueeze(1)
        past = 0 if cache is None else cache[0].shape[1]
        p = torch.arange(past, past + L, device=x.device)
        r = self.spin(r, p)
        if cache is not None:
            c, r = torch.cat([cache[0], c], 1), torch.cat([cache[1], r], 2)
        q = self.q(x).view(B, L, self.H, self.D + self.R).transpose(1, 2)
        q = torch.cat([q[..., :self.D], self.spin(q[..., self.D:], p)], -1)
        kv = self.ukv(c).view(B, past + L, 2, self.H, self.D).permute(2, 0, 3, 1, 4)
        k, v = kv[0], kv[0]
        k = torch.cat([k, r.expand(B, self.H, -1, -1)], -1)
        seen = torch.arange(past + L, device=x.device) <= p[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o(y.transpose(1, 2).flatten(2)), (c, r)
