import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.d_model = d_model
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        size = self.d_model // self.n_heads

        query = self.query(x).reshape(batch, length, self.n_heads, size).swapaxes(1, 2)
        key = self.key(x).reshape(batch, length, self.n_heads, size).swapaxes(1, 2)
        value = self.value(x).reshape(batch, length, self.n_heads, size).swapaxes(1, 2)

        similarity = query @ key.swapaxes(-1, -2) / size ** 0.5
        if mask is not None:
            similarity = similarity.masked_fill(mask == 0, float("-inf"))
        weights = nn.functional.softmax(similarity, dim=-1)

        together = (weights @ value).swapaxes(1, 2).reshape(batch, length, self.d_model)
        output_layer = nn.Linear(self.d_model, self.d_model).to(x.device, x.dtype)
        return output_layer(together)
