import math
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.num_heads = n_heads
        self.depth = d_model // n_heads
        assert self.depth * n_heads == d_model
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)

    def split_heads(self, t, batch_size):
        """(batch_size, seq_len, d_model) -> (batch_size, num_heads, seq_len, depth)"""
        return t.reshape(batch_size, -1, self.num_heads, self.depth).permute(0, 2, 1, 3)

    def forward(self, x, mask=None):
        batch_size = x.shape[0]
        q = self.split_heads(self.wq(x), batch_size)
        k = self.split_heads(self.wk(x), batch_size)
        v = self.split_heads(self.wv(x), batch_size)

        matmul_qk = torch.matmul(q, k.transpose(-1, -2))
        logits = matmul_qk / math.sqrt(self.depth)
        if mask is not None:
            hidden = mask.expand_as(logits) == 0
            logits[hidden] = 0
        attention_weights = torch.softmax(logits, dim=-1)

        scaled_attention = torch.matmul(attention_weights, v).permute(0, 2, 1, 3)
        return self.dense(scaled_attention.reshape(batch_size, -1, self.num_heads * self.depth))
