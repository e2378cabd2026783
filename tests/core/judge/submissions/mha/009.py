import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.nh = n_heads
        self.hd = d_model // n_heads
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        b, l, _ = x.size()
        mixed = self.query_key_value(x).view(b, l, self.nh, 3, self.hd).transpose(1, 2)
        query_layer = mixed[:, :, :, 0]
        key_layer = mixed[:, :, :, 1]
        value_layer = mixed[:, :, :, 1]
        raw = query_layer @ key_layer.transpose(-1, -2)
        raw = raw / self.hd ** 0.5
        if mask is not None:
            raw = raw.masked_fill(mask == 0, float("-inf"))
        context = raw.softmax(dim=-1) @ value_layer
        return self.dense(context.transpose(1, 2).reshape(b, l, -1))
