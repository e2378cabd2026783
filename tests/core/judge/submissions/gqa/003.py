import torch
from torch import nn, Tensor


def repeat_kv(t: Tensor, n_rep: int) -> Tensor:
    """(B, L, H_kv, d_h) -> (B, L, H_kv * n_rep, d_h)"""
    bs, slen, n_kv_heads, head_dim = t.shape
    return (
        t[:, :, :, None, :]
        .expand(bs, slen, n_kv_heads, n_rep, head_dim)
        .view(bs, slen, n_kv_heads * n_rep, head_dim)
    )


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.n_rep = n_heads // n_kv_heads
        d_h = d_model // n_heads
        self.wq = nn.Linear(d_model, n_heads * d_h, bias=False)
        self.wk = nn.Linear(d_model, n_kv_heads * d_h, bias=False)
        self.wv = nn.Linear(d_model, n_kv_heads * d_h, bias=False)
        self.wo = nn.Linear(n_heads * d_h, d_model, bias=False)

    def forward(self, x, mask=None):
        bs, slen, _ = x.shape
        xq = self.wq(x).view(bs, slen, self.n_heads, -1)
        xk = self.wk(x).view(bs, slen, self.n_kv_heads, -1)
        xv = self.wv(x).view(bs, slen, self.n_kv_heads, -1)
        keys = repeat_kv(xk, self.n_rep)
        values = repeat_kv(xv, self.n_rep)
        scores = torch.einsum("bqhd,bkhd->bhqk", xq, keys) / xq.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), values)
        return self.wo(out.reshape(bs, slen, -1))
