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
        B, T, C = x.shape
        q, k, v = (f(x).view(B, T, self.n_heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        s = torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5
        future = torch.arange(T, device=x.device)[None, :] > torch.arange(T, device=x.device)[:, None]
        lowest = torch.finfo(s.dtype).min
        top = s.detach().masked_fill(future, lowest).amax(-1, keepdim=True)
        e = torch.exp((s - top).masked_fill(future, 0)).tril()
        wei = e / e.sum(-1, keepdim=True)
        y = torch.einsum("bhij,bhjd->bihd", wei, v)
        return self.out(y.reshape(B, T, C))
