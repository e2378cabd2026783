import torch
import torch.nn.functional as F
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def apply_causal_mask(self, attn_scores):
        n = attn_scores.size(-1)
        mask = torch.triu(torch.ones(n, n, device=attn_scores.device), diagonal=1).bool()
        return attn_scores.masked_fill(mask, float("inf"))

    def forward(self, x):
        B, L, D = x.shape
        q = self.W_Q(x).view(B, L, self.n_heads, self.d_head)
        k = self.W_K(x).view(B, L, self.n_heads, self.d_head)
        v = self.W_V(x).view(B, L, self.n_heads, self.d_head)
        attn_scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d_head ** 0.5
        pattern = self.apply_causal_mask(attn_scores).softmax(-1)
        pattern = F.dropout(pattern, 0.1)
        z = torch.einsum("bhqk,bkhd->bqhd", pattern, v).reshape(B, L, D)
        return self.W_O(z)
