import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.w_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape

        def go(layer):
            return layer(x).view(batch, length, self.n_heads, self.d_k).transpose(1, 2)

        attn = go(self.q).matmul(go(self.k).transpose(2, 3)).div(self.d_k)
        if mask is not None:
            attn = attn.masked_fill(mask == 0, float("-inf"))
        return self.w_out(attn.softmax(3).matmul(go(self.v)).transpose(1, 2).flatten(2))
