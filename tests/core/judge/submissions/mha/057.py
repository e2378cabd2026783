from typing import Optional

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        if mask is None:
            return self.mha(x, x, x, need_weights=False)[0]
        b, l, _ = x.shape
        h = self.mha.num_heads
        full = mask.bool().expand(b, h, l, l).reshape(b * h, l, l)
        return self.mha(x, x, x, attn_mask=full, need_weights=False)[0]
