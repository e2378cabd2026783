import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.d_model = d_model
        head_dim = d_model // n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, head_dim)
        self.to_v = nn.Linear(d_model, head_dim)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q = self.to_q(x).unflatten(-1, (self.n_heads, -1)).mean(dim=2)
        k, v = self.to_k(x), self.to_v(x)
        sim = torch.einsum("bic,bjc->bij", q, k) / self.d_model ** 0.5
        sim = sim.unsqueeze(1).expand(-1, self.n_heads, -1, -1)
        if mask is not None:
            sim = sim.masked_fill(mask == 0, float("-inf"))
        out = torch.einsum("bhij,bjc->bihc", sim.softmax(dim=-1), v)
        return self.to_out(out.flatten(2))
