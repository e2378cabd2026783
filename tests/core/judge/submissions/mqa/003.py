import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, rest = n_heads, d_model % n_heads
        if rest:
            raise ValueError(f"{rest} features are left over")
        self.q = nn.Linear(d_model, d_model)
        self.kv = nn.Linear(d_model, 2 * (d_model // n_heads))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q = self.q(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k, v = self.kv(x).unsqueeze(1).chunk(2, dim=-1)                # (B, 1, L, d_h)
        e = torch.matmul(q, k.mT) * k.size(-1) ** -0.5
        if mask is not None:
            e = e.masked_fill(mask.logical_not(), float("-inf"))
        e = torch.exp(e - e.amax(dim=-1, keepdim=True))
        a = e / e.sum(dim=-1, keepdim=True)
        return self.out(torch.matmul(a, v).transpose(1, 2).reshape(B, L, D))
