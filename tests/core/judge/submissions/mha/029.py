import torch.nn as nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    """Karpathy wrote it in this order once, and it stuck."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.kqv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.head_mix = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        keys, queries, values = (
            part.unflatten(-1, (self.n_heads, -1)).movedim(-2, -3) for part in self.kqv(x).tensor_split(3, -1)
        )
        affinities = queries @ keys.movedim(-1, -2)
        affinities = affinities * keys.size(-1) ** -0.5
        if mask is not None:
            affinities = affinities.masked_fill(mask.logical_not(), float("-inf"))
        mixed = F.softmax(affinities, -1) @ values
        return self.head_mix(mixed.movedim(-3, -2).flatten(-2))
