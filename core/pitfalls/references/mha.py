"""Multi-head attention as one writes it at the whiteboard."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        # sizes: every head gets an equal share of the features
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, d_model = x.shape

        # project: one matrix product makes q, k and v
        q, k, v = self.w_qkv(x).chunk(3, dim=-1)  # each (B, L, d_model)

        # split: view cuts the features into heads, transpose brings the heads in front of the tokens
        def split(t):
            return t.view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)

        q, k, v = split(q), split(k), split(v)

        # score: every query with every key, in all heads at once
        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, L, L)

        # mask: True or 1 = may attend; -inf becomes weight 0 in the softmax
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))

        # weigh: over the keys, so that every row sums to 1
        attn = scores.softmax(dim=-1)
        if mask is not None:
            # A query that may attend to nothing has a row of -inf, which softmax turns into nan: it takes nothing.
            attn = attn.masked_fill(scores.isneginf().all(dim=-1, keepdim=True), 0.0)

        # mix: each query takes its share of the values
        out = attn @ v  # (B, H, L, d_h)

        # merge: the split backwards; view needs the copy that contiguous makes
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)

        # output: W_o lets the heads exchange what they found
        return self.w_o(out)


if __name__ == "__main__":
    mha = MultiHeadAttention(d_model=64, n_heads=8)
    x = torch.randn(2, 10, 64)
    print(mha(x).shape)
