import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_k = nn.Linear(d_model, d_model, bias=False)
        self.to_v = nn.Linear(d_model, d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).reshape(b, n, self.n_heads, -1).permute(0, 2, 1, 3) for f in (self.to_q, self.to_k, self.to_v))
        dots = q @ k.mT * q.shape[-1] ** -0.5
        causal_mask = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(0)
        dots = dots.masked_fill(causal_mask, float("-inf"))
        attn = dots.softmax(dim=-1)
        return self.to_out((attn @ v).permute(0, 2, 1, 3).reshape(b, n, d))
