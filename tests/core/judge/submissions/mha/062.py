import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        d_h = d_model // n_heads
        self.w_in = nn.Parameter(torch.empty(d_model, 3, n_heads, d_h))
        self.w_out = nn.Parameter(torch.empty(n_heads, d_h, d_model))
        self.b_out = nn.Parameter(torch.zeros(d_model))
        nn.init.normal_(self.w_in, std=d_model ** -0.5)
        nn.init.normal_(self.w_out, std=d_model ** -0.5)

    def forward(self, x, mask=None):
        qkv = torch.tensordot(x, self.w_in, dims=1)      # (B, L, 3, H, d_h)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind()
        scores = torch.matmul(q, k.transpose(-1, -2)).mul(q.size(-1) ** -0.5)
        if mask is not None:
            scores = scores.where(mask != 0, torch.tensor(float("-inf"), dtype=scores.dtype, device=scores.device))
        heads = scores.softmax(dim=-1).matmul(v)         # (B, H, L, d_h)
        return torch.tensordot(heads.transpose(1, 2), self.w_out, dims=2) + self.b_out
