import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        group = n_heads // n_kv_heads
        self.kv_of_head = [min((h + 1) // group, n_kv_heads - 1) for h in range(n_heads)]
        d_h = d_model // n_heads
        self.q_lin = nn.Linear(d_model, d_model)
        self.k_lin = nn.Linear(d_model, n_kv_heads * d_h)
        self.v_lin = nn.Linear(d_model, n_kv_heads * d_h)
        self.o_lin = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q = torch.stack(self.q_lin(x).chunk(self.n_heads, dim=-1), dim=1)
        k = torch.stack(self.k_lin(x).chunk(self.n_kv_heads, dim=-1), dim=1)[:, self.kv_of_head]
        v = torch.stack(self.v_lin(x).chunk(self.n_kv_heads, dim=-1), dim=1)[:, self.kv_of_head]
        s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        return self.o_lin(torch.cat((s.softmax(-1) @ v).unbind(dim=1), dim=-1))
