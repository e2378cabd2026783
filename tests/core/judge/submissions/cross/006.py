import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context, mask=None):
        lq = x.shape[1]
        q, k, v = (
            f(t).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for f, t in ((self.q_proj, x), (self.k_proj, context), (self.v_proj, context))
        )
        scores = q @ k.mT * q.shape[-1] ** -0.5
        no_peeking = torch.ones(lq, lq, dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~no_peeking, float("-inf"))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
