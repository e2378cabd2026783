import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.layer = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x):
        n = x.shape[1]
        hide = torch.ones(n, n, device=x.device).triu(diagonal=1) == 1
        return self.layer(x, x, x, attn_mask=hide, need_weights=False)[0]
