import torch
import torch.nn as nn
import torch.nn.functional as F


class SlidingWindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, window):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads does not divide d_model")
        self.n_heads, self.window = n_heads, window
        self.to_qkv = nn.Linear(d_model, 3 * d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x):
        L = x.size(1)
        q, k, v = self.to_qkv(x).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        pos = torch.arange(L, device=x.device)
        age = pos[:, None] - pos
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=(age >= 0) & (age < self.window))
        return self.to_out(y.transpose(1, 2).flatten(2))
