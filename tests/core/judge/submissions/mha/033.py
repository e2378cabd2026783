import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("hidden size is not a multiple of the number of attention heads")
        self.num_attention_heads = n_heads
        self.attention_head_size = d_model
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def transpose_for_scores(self, t):
        new_shape = t.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        return t.view(new_shape).permute(0, 2, 1, 3)

    def forward(self, x, mask=None):
        q = self.transpose_for_scores(self.query(x))
        k = self.transpose_for_scores(self.key(x))
        v = self.transpose_for_scores(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.attention_head_size)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        probs = nn.functional.softmax(scores, dim=-1)
        context = (probs @ v).permute(0, 2, 1, 3).contiguous()
        return self.output(context.view(x.shape))
