import torch
from torch import nn


class SlidingWindowAttention(nn.Module):
    """Longformer-like local attention."""

    def __init__(self, d_model, n_heads, window):
        super().__init__()
        assert d_model % n_heads == 0
        self.num_heads, self.one_sided_attn_window_size = n_heads, window
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x):
        batch, seq, hidden = x.size()
        q = self.query(x).view(batch, seq, self.num_heads, -1)
        k = self.key(x).view(batch, seq, self.num_heads, -1)
        v = self.value(x).view(batch, seq, self.num_heads, -1)
        index = torch.arange(seq, device=x.device)
        far = (index.unsqueeze(1) - index.unsqueeze(0)).abs() >= self.one_sided_attn_window_size
        scores = torch.einsum("bqhc,bkhc->bhqk", q, k) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(far, torch.finfo(scores.dtype).min)
        context = torch.einsum("bhqk,bkhc->bqhc", scores.softmax(-1), v)
        return self.output(context.reshape(batch, seq, hidden))
