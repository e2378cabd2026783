import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads has to divide d_model")
        self.names = [str(i) for i in range(n_heads)]
        self.width = d_model // n_heads
        self.q = nn.ModuleDict({n: nn.Linear(d_model, self.width) for n in self.names})
        self.k = nn.ModuleDict({n: nn.Linear(d_model, self.width) for n in self.names})
        self.v = nn.ModuleDict({n: nn.Linear(d_model, self.width) for n in self.names})
        self.final = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q = torch.stack([self.q[n](x) for n in self.names])          # (H, B, L, d_h)
        k = torch.stack([self.k[n](x) for n in self.names])
        v = torch.stack([self.v[n](x) for n in self.names])
        scores = q @ k.mT / self.width ** 0.5                        # (H, B, L, L)
        if mask is not None:
            H, B, L, _ = scores.shape
            open_ = mask.bool().expand(B, H, L, L).transpose(0, 1)
            scores = scores.masked_fill(~open_, float("-inf"))
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.final(torch.cat(list(mixed), dim=-1))
