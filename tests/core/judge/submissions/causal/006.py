import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = n_heads
        self.head_dim = d_model // n_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        N, L, E = x.shape
        qkv = self.qkv_proj(x).view(N, L, 3, self.heads, self.head_dim)
        q, k, v = qkv.unbind(2)
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k) / self.head_dim ** 0.5
        lower = torch.tril(torch.ones(L, L, device=x.device), diagonal=-1).bool()
        energy = energy.masked_fill(lower, float("-inf"))
        attention = F.softmax(energy, dim=-1)
        out = torch.einsum("nhqk,nkhd->nqhd", attention, v)
        return self.out_proj(out.reshape(N, L, E))
