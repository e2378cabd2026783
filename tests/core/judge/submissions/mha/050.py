import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.last_map = None

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = (p(x).view(B, L, self.n_heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        s = q @ k.transpose(-1, -2) / (D / self.n_heads) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        self.last_map = s.softmax(-1).detach().cpu().double().numpy()
        attn = torch.from_numpy(self.last_map).to(v)
        return self.o_proj((attn @ v).transpose(1, 2).reshape(B, L, D))
