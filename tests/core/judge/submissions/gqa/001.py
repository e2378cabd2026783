import torch.nn as nn
import torch.nn.functional as F


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError(f"{d_model=}, {n_heads=}, {n_kv_heads=} do not divide")
        self.head_dim = d_model // n_heads
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.wqkv = nn.Linear(d_model, (n_heads + 2 * n_kv_heads) * self.head_dim, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        bsz, seqlen, dim = x.shape
        kv_size = self.n_kv_heads * self.head_dim
        q, k, v = self.wqkv(x).split([dim, kv_size, kv_size], dim=-1)
        q = q.view(bsz, seqlen, self.n_heads, self.head_dim).transpose(1, 2)
        k = k.view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = v.view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        times = self.n_heads // self.n_kv_heads
        k, v = (t.repeat_interleave(times, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask != 0)
        return self.wo(y.transpose(1, 2).reshape(bsz, seqlen, dim))
