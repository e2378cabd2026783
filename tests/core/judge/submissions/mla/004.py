import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        assert d_model % n_heads == 0 and d_rope % 2 == 0
        self.heads = n_heads
        self.dim_head, self.dim_rope = d_model // n_heads, d_rope
        self.scale = d_latent ** -0.5
        self.to_q = nn.Linear(d_model, n_heads * (self.dim_head + d_rope), bias=False)
        self.to_latent = nn.Linear(d_model, d_latent, bias=False)
        self.to_k = nn.Linear(d_latent, d_model, bias=False)
        self.to_v = nn.Linear(d_latent, d_model, bias=False)
        self.to_k_rope = nn.Linear(d_model, d_rope, bias=False)
        self.to_out = nn.Linear(d_model, d_model, bias=False)
        inv = 10000.0 ** (-torch.arange(0, d_rope, 2, dtype=torch.float64) / d_rope)
        self.inv_freq = inv.tolist()

    def rotary(self, t, offset):
        n = torch.arange(offset, offset + t.shape[2], dtype=torch.float64, device=t.device)
        f = n[:, None] * torch.tensor(self.inv_freq, dtype=torch.float64, device=t.device)
        f = torch.cat((f, f), dim=-1)
        x1, x2 = t.chunk(2, dim=-1)
        return t * f.cos().to(t.dtype) + torch.cat((-x2, x1), dim=-1) * f.sin().to(t.dtype)

    def forward(self, x, cache=None):
        b, n, _ = x.shape
        offset = cache[0].shape[1] if cache is not None else 0
        q = self.to_q(x).view(b, n, self.heads, -1).transpose(1, 2)
        qc, qr = q[..., :self.dim_head], self.rotary(q[..., self.dim_head:], offset)
        latent, kr = self.to_latent(x), self.rotary(self.to_k_rope(x)[:, None], offset)
        if cache is not None:
            latent, kr = torch.cat((cache[0], latent), dim=1), torch.cat((cache[1], kr), dim=2)
        k = self.to_k(latent).view(b, -1, self.heads, self.dim_head).transpose(1, 2)
        v = self.to_v(latent).view(b, -1, self.heads, self.dim_head).transpose(1, 2)
        sim = (qc @ k.mT + qr @ kr.mT) * self.scale
        i, j = sim.shape[-2:]
        sim = sim.masked_fill(torch.ones(i, j, device=x.device).triu(j - i + 1).bool(), float("-inf"))
        out = (sim.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, -1)
        return self.to_out(out), (latent, kr)
