import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("heads do not fit")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        q = self.w_q(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k = self.w_k(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        v = self.w_v(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        steps = []
        for t in range(L):
            past = slice(0, t + 2)
            s = q[:, :, t:t + 1] @ k[:, :, past].transpose(2, 3) / k.shape[-1] ** 0.5
            steps.append(s.softmax(-1) @ v[:, :, past])
        y = torch.cat(steps, dim=2)
        return self.w_o(y.transpose(1, 2).reshape(B, L, D))
