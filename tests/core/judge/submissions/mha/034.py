from torch import nn
import torch


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = n_heads
        self.dim_head = d_model // n_heads
        inner = self.heads * self.dim_head
        self.scale = self.dim_head ** -0.5
        self.to_q = nn.Linear(d_model, inner, bias=False)
        self.to_k = nn.Linear(d_model, inner, bias=False)
        self.to_v = nn.Linear(d_model, inner, bias=False)
        self.to_out = nn.Linear(inner, d_model)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.dim_head).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        sim = torch.einsum("bhid,bhjd->bhij", q * self.scale, k)
        if mask is not None:
            sim = sim.masked_fill(mask == 0, -torch.finfo(sim.dtype).max)
        out = torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))
