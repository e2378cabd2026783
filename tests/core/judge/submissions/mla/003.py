import torch
from torch import nn
from torch.nn.functional import linear


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        d_h = d_model // n_heads
        if d_h * n_heads != d_model:
            raise ValueError("n_heads must divide d_model")
        if d_rope % 2:
            raise ValueError("d_rope must be even")
        self.d_h, self.d_rope = d_h, d_rope

        def weight(*shape):
            return nn.Parameter(torch.randn(*shape) * shape[-1] ** -0.5)

        self.wq = weight(n_heads, d_h + d_rope, d_model)
        self.w_down = weight(d_latent, d_model)
        self.w_uk = weight(n_heads, d_h, d_latent)
        self.w_uv = weight(n_heads, d_h, d_latent)
        self.w_kr = weight(d_rope, d_model)
        self.wo = weight(d_model, d_model)

    @staticmethod
    def rope(t, first):
        n = t.shape[-1] // 2
        p = torch.arange(first, first + t.shape[-2], device=t.device).double()[:, None]
        a = p / 10000.0 ** (torch.arange(n, device=t.device).double() / n)
        z = torch.complex(t[..., :n].double(), t[..., n:].double()) * torch.complex(a.cos(), a.sin())
        return torch.cat((z.real, z.imag), dim=-1).to(t.dtype)

    def forward(self, x, cache=None):
        first = 0 if cache is None else cache[0].shape[1]
        latent = linear(x, self.w_down)                                        # (B, L, d_latent)
        key_rope = self.rope(linear(x, self.w_kr).unsqueeze(1), first)         # (B, 1, L, d_rope)
        if cache is not None:
            latent = torch.cat([cache[0], latent], dim=1)
            key_rope = torch.cat([cache[1], key_rope], dim=2)
        q = torch.einsum("blm,hdm->bhld", x, self.wq)
        content, rotary = q[..., :self.d_h], self.rope(q[..., self.d_h:], first)
        absorbed = torch.einsum("bhld,hdc->bhlc", content, self.w_uk)          # (B, H, L, d_latent)
        scores = absorbed @ latent.unsqueeze(1).mT + rotary @ key_rope.mT
        scores = scores * (self.d_h + self.d_rope) ** -0.5
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril(first)
        attn = torch.where(mask, scores, float("-inf")).softmax(dim=-1)
        in_latent = attn @ latent.unsqueeze(1)                                 # (B, H, L, d_latent)
        out = torch.einsum("bhlc,hdc->blhd", in_latent, self.w_uv)
        return linear(out.flatten(2), self.wo), (latent, key_rope)
