import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads must be 0")
        self.n_heads = n_heads
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, d_model)
        self.lin_v = nn.Linear(d_model, d_model)
        self.lin_o = nn.Linear(d_model, d_model)

    def head(self, q, k, v):
        length = q.shape[1]
        scores = torch.bmm(q, k.transpose(1, 2)) * q.shape[2] ** -0.5
        keep = torch.triu(torch.ones(length, length, dtype=torch.bool, device=q.device))
        scores = torch.where(keep, scores, float("-inf"))
        return torch.bmm(torch.softmax(scores, dim=1), v)

    def forward(self, x):
        pieces = zip(*(f(x).chunk(self.n_heads, dim=-1) for f in (self.lin_q, self.lin_k, self.lin_v)))
        return self.lin_o(torch.cat([self.head(q, k, v) for q, k, v in pieces], dim=-1))
