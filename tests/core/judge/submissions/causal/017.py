import torch
import torch.nn as nn


class Conv1D(nn.Module):
    """A linear layer whose weight stands as (inputs, outputs), as in OpenAI's GPT-2."""

    def __init__(self, n_out, n_in):
        super().__init__()
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(n_in, n_out), std=0.02))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        flat = torch.addmm(self.bias, x.reshape(-1, x.size(-1)), self.weight)
        return flat.view(*x.shape[:-1], -1)


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_embd must be divisible by n_head")
        self.n_head = n_heads
        self.split_size = d_model
        self.c_attn = Conv1D(3 * d_model, d_model)
        self.c_proj = Conv1D(d_model, d_model)
        self.resid_dropout = nn.Dropout(0.1)

    def forward(self, x):
        b, t, c = x.shape
        query, key, value = (
            part.view(b, t, self.n_head, -1).transpose(1, 2) for part in self.c_attn(x).split(self.split_size, dim=2)
        )
        w = query @ key.transpose(-1, -2) / value.size(-1) ** 0.5
        causal = torch.ones((t, t), dtype=torch.bool, device=x.device).tril()
        w = w.where(causal, torch.finfo(w.dtype).min)
        a = w.softmax(dim=-1) @ value
        return self.resid_dropout(self.c_proj(a.transpose(1, 2).reshape(b, t, c)))
