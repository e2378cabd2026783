import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("head counts do not divide")
        self.K, self.G = n_kv_heads, n_heads // n_kv_heads
        self.d_h = d_model // n_heads
        self.proj_q = nn.Linear(d_model, d_model)
        self.proj_kv = nn.Linear(d_model, 2 * n_kv_heads * self.d_h)
        self.proj_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q = self.proj_q(x).view(B, L, self.K, self.G, self.d_h).permute(0, 2, 3, 1, 4)       # (B, K, G, L, d_h)
        k, v = self.proj_kv(x).view(B, L, 2, self.K, 1, self.d_h).permute(2, 0, 3, 4, 1, 5)  # (B, K, 1, L, d_h)
        s = q @ k.mT * self.d_h ** -0.5
        if mask is not None:
            grouped = mask.bool().expand(B, self.K * self.G, L, L).view(B, self.K, self.G, L, L) \
                if mask.dim() == 4 and mask.shape[1] != 1 else mask.bool().expand(B, 1, L, L).unsqueeze(1)
            s = s.masked_fill(~grouped, float("-inf"))
        y = s.softmax(-1) @ v
        return self.proj_out(y.permute(0, 3, 1, 2, 4).reshape(B, L, D))
