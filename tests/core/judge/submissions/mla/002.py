import torch
from torch import nn, einsum


class MultiHeadLatentAttention(nn.Module):
    """DeepSeek-V2 (arXiv 2405.04434), section 2.1."""

    def __init__(self, d_model, n_heads, d_latent, d_rope):
        super().__init__()
        assert d_model % n_heads == 0
        assert d_rope % 2 == 0
        self.h, self.dh, self.dr = n_heads, d_model // n_heads, d_rope
        self.w_q = nn.Linear(d_model, n_heads * (self.dh + d_rope))
        self.down = nn.Linear(d_model, d_latent)
        self.up = nn.Linear(d_latent, 2 * d_model)
        self.w_rope = nn.Linear(d_model, d_rope)
        self.w_o = nn.Linear(d_model, d_model)

    def turn(self, t, pos):
        """t (B, ..., L, d_rope), pos (L,)"""
        i = torch.arange(self.dr // 2, device=t.device)
        angle = pos[:, None].double() * torch.exp(-i.double() * (2 / self.dr) * torch.log(torch.tensor(1e4).double()))
        c, s = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
        u, w = t[..., : self.dr // 2], t[..., self.dr // 2:]
        return torch.cat((u * c - w * s, u * s + w * c), -1)

    def forward(self, x, cache=None):
        L = x.size(1)
        latent, key_rope = self.down(x), self.w_rope(x)[:, None]
        T = L if cache is None else L + cache[0].size(1)
        pos = torch.arange(T, device=x.device)
        key_rope = self.turn(key_rope, pos[T - L:])
        if cache is not None:
            latent, key_rope = torch.cat((cache[0], latent), 1), torch.cat((cache[1], key_rope), 2)
        q = self.w_q(x).unflatten(-1, (self.h, -1)).movedim(2, 1)
        k, v = self.up(latent).unflatten(-1, (2, self.h, self.dh)).unbind(2)
        score = einsum("bhqc,bkhc->bhqk", q[..., :self.dh], k)
        score = score + einsum("bhqr,bkr->bhqk", self.turn(q[..., self.dh:], pos[T - L:]), key_rope[:, 0])
        score = score / (self.dh + self.dr) ** 0.5
        score = score.masked_fill(pos > pos[T - L:, None], float("-inf"))
        y = einsum("bhqk,bkhc->bqhc", score.softmax(-1), v)
        return self.w_o(y.flatten(2)), (latent, key_rope)
