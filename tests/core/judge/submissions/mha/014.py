import math
import torch
import torch.nn as nn


def attention(query, key, value, mask=None):
    "Compute 'Scaled Dot Product Attention'"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        "Take in model size and number of heads."
        super(MultiHeadAttention, self).__init__()
        assert d_model % n_heads == 0
        self.d_k = d_model // n_heads
        self.h = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.linear_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        nbatches = x.size(0)
        # 1) Do all the linear projections in batch from d_model => h x d_k
        q, k, v = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin in (self.query, self.key, self.value)
        ]
        # 2) Apply attention on all the projected vectors in batch.
        z = attention(q, k, v, mask=mask)
        # 3) "Concat" using a view and apply a final linear.
        z = z.contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linear_out(z)
