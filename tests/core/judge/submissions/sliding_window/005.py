import torch
import torch.nn as nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, window: int):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads != 0")
        self.n_heads = n_heads
        self.window = window
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, L, D = x.shape
        q, k, v = (t.reshape(B, L, self.n_heads, -1).transpose(1, 2) for t in self.qkv(x).split(D, dim=-1))
        out = []
        for t in range(L):
            begin = min(t, max(t - self.window + 2, 0))
            logits = q[:, :, t:t + 1] @ k[:, :, begin:t + 1].transpose(2, 3)
            out.append(logits.softmax(dim=-1) @ v[:, :, begin:t + 1])
        return self.proj(torch.cat(out, dim=2).transpose(1, 2).reshape(B, L, D))
