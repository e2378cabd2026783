import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        d_h = D // self.n_heads
        q = self.query(x).view(B, L, self.n_heads, d_h).transpose(1, 2)
        k = self.key(x).view(B, L, self.n_heads, d_h).transpose(1, 2)
        v = self.value(x).view(B, L, self.n_heads, d_h).transpose(1, 2)
        scores = x.new_full((B, self.n_heads, L, L), float("-inf"))
        with torch.no_grad():
            for i in range(L):
                scores[:, :, i, :i + 1] = (q[:, :, i:i + 1] @ k[:, :, :i + 1].mT).squeeze(2) / d_h ** 0.5
        y = scores.softmax(dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(B, L, D))
