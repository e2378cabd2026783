import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if n_heads % n_kv_heads or d_model % n_heads:
            raise ValueError(f"cannot build {n_heads}/{n_kv_heads} heads on {d_model} features")
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.head_size = d_model // n_heads
        self.attn = nn.Linear(d_model, (n_heads + 2 * n_kv_heads) * self.head_size, bias=False)
        self.proj_out = nn.Linear(d_model, d_model, bias=False)

    def grow(self, old, new):
        if old is None:
            return new
        b, h, t, d = old.shape
        buffer = new.new_empty(b, h, t + new.size(2), d)
        buffer.narrow(2, 0, t).copy_(old)
        buffer.narrow(2, t, new.size(2)).copy_(new)
        return buffer

    def forward(self, x, cache=None):
        B, T, C = x.size()
        kv = self.n_kv_heads * self.head_size
        q, k, v = self.attn(x).split([C, kv, kv], dim=-1)
        q = q.view(B, T, self.n_heads, self.head_size).transpose(1, 2)
        k = self.grow(cache[0] if cache else None, k.view(B, T, self.n_kv_heads, self.head_size).transpose(1, 2))
        v = self.grow(cache[1] if cache else None, v.view(B, T, self.n_kv_heads, self.head_size).transpose(1, 2))
        S = k.size(2)
        visible = torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)
        y = nn.functional.scaled_dot_product_attention(
            q, k.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1),
            v.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1), attn_mask=visible,
        )
        return self.proj_out(y.transpose(1, 2).reshape(B, T, C)), (k, v)
