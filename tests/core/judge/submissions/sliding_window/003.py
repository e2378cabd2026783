import math
import torch
import torch.nn as nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, window):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.n_heads = n_heads
        self.window = window
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        d_h = D // self.n_heads
        q = self.query(x).view(B, L, self.n_heads, d_h)
        k = self.key(x).view(B, L, self.n_heads, d_h)
        v = self.value(x).view(B, L, self.n_heads, d_h)
        rows = []
        for t in range(L):
            start = max(0, t - self.window + 1)
            near_k, near_v = k[:, start:t + 1], v[:, start:t + 1]
            scores = torch.einsum("bhd,bwhd->bhw", q[:, t], near_k) / math.sqrt(d_h)
            rows.append(torch.einsum("bhw,bwhd->bhd", torch.softmax(scores, dim=2), near_v))
        return self.output(torch.stack(rows, dim=1).reshape(B, L, D))
