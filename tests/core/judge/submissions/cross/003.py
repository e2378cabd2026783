import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    """The decoder (x) reads the encoder's memory (context)."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads, self.size = n_heads, d_model // n_heads
        assert self.heads * self.size == d_model
        self.target = nn.Linear(d_model, d_model, bias=False)
        self.source = nn.Linear(d_model, 2 * d_model, bias=False)
        self.mix = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, context, mask=None):
        asked = self.target(x).unflatten(-1, (self.heads, self.size))
        offered, content = self.source(context).unflatten(-1, (2, self.heads, self.size)).unbind(-3)
        match = torch.einsum("nthe,nshe->nhts", asked, offered) / self.size ** 0.5
        if mask is not None:
            match = match.masked_fill(mask.eq(0), float("-inf"))
        share = nn.functional.softmax(match, dim=-1)
        return self.mix(torch.einsum("nhts,nshe->nthe", share, content).flatten(-2))
