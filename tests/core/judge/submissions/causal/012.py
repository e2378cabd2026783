import torch
from torch import nn


def causal_attention(q, k, v):
    scores = torch.matmul(q, k.transpose(-1, -2))
    scores = scores + torch.full_like(scores, float("-inf")).triu(1)
    return torch.matmul(torch.softmax(scores, dim=-1) / q.size(-1) ** 0.5, v)


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = (p(x).unflatten(2, (self.n_heads, -1)).movedim(2, 1) for p in (self.q_proj, self.k_proj, self.v_proj))
        return self.c_proj(causal_attention(q, k, v).movedim(1, 2).flatten(2))
