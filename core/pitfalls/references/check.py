"""The check that one writes beside one's own attention: on the same weights, how far is it from torch's module?"""

import torch
import torch.nn.functional as F
from torch import nn


class MyAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = self.w_qkv(x).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)  # each (B, H, L, d_h)
        return self.w_o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))  # (B, L, d_model)


class Check(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.mine = MyAttention(d_model, n_heads)
        self.theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    @torch.no_grad()
    def forward(self, x):
        """The largest difference between the two on x (B, L, d_model), nan if there is a nan anywhere."""
        # Each module has drawn weights of its own, and a seed would not make them the same.
        self.mine.w_qkv.weight.copy_(self.theirs.in_proj_weight)
        self.mine.w_qkv.bias.copy_(self.theirs.in_proj_bias)
        self.mine.w_o.weight.copy_(self.theirs.out_proj.weight)
        self.mine.w_o.bias.copy_(self.theirs.out_proj.bias)

        differences = (self.mine(x) - self.theirs(x, x, x)[0]).abs()  # (B, L, d_model)
        return differences.max()
