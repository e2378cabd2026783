import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model is not divisible by n_heads")
        self.n_head = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        n_batch, n_ctx, n_state = q.shape
        scale = (n_state // self.n_head) ** -0.25
        q = q.view(n_batch, n_ctx, self.n_head, -1).permute(0, 2, 1, 3)
        k = k.view(n_batch, n_ctx, self.n_head, -1).permute(0, 2, 3, 1)
        v = v.view(n_batch, n_ctx, self.n_head, -1).permute(0, 2, 1, 3)
        qk = (q * scale) @ (k * scale)
        if mask is not None:
            qk = qk + torch.zeros_like(qk).masked_fill_(mask == 0, -torch.inf)
        w = F.softmax(qk, dim=-1)
        return self.out((w @ v).permute(0, 2, 1, 3).flatten(start_dim=2))
