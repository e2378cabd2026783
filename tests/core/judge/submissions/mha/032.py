import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("bad number of heads")
        self.n_heads = n_heads
        d_k = d_model // n_heads
        self.proj = nn.ModuleDict({name: nn.Linear(d_k, d_k) for name in ("query", "key", "value")})
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        heads = torch.stack(x.chunk(self.n_heads, dim=-1), dim=1)
        q = self.proj["query"](heads)
        k = self.proj["key"](heads)
        v = self.proj["value"](heads)
        score = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            score = score.masked_fill(mask == 0, float("-inf"))
        context = score.softmax(dim=-1) @ v
        return self.out(torch.cat(context.unbind(dim=1), dim=-1))
