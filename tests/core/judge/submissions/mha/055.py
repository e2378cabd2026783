import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(embed_dim=d_model, num_heads=n_heads, batch_first=True)

    def forward(self, x, mask=None):
        if mask is not None:
            batch, length, _ = x.shape
            may_look = torch.broadcast_to(mask.bool(), (batch, self.inner.num_heads, length, length))
            mask = may_look.logical_not().flatten(0, 1)
        y, _ = self.inner(x, x, x, attn_mask=mask, need_weights=False)
        return y
