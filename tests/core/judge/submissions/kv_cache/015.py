import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    MAX_LEN = 128

    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.d_h = d_model // n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, n_kv_heads * self.d_h)
        self.value = nn.Linear(d_model, n_kv_heads * self.d_h)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, L, _ = x.shape
        q = self.query(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)
        k = self.key(x).view(B, L, self.n_kv_heads, self.d_h).transpose(1, 2)
        v = self.value(x).view(B, L, self.n_kv_heads, self.d_h).transpose(1, 2)
        if cache is None:
            start = 0
            self.buf_k = x.new_zeros(B, self.n_kv_heads, self.MAX_LEN, self.d_h)
            self.buf_v = x.new_zeros(B, self.n_kv_heads, self.MAX_LEN, self.d_h)
        else:
            start = cache[0].size(2)
        end = start + L
        self.buf_k[:, :, start:end] = k
        self.buf_v[:, :, start:end] = v
        k, v = self.buf_k[:, :, :end], self.buf_v[:, :, :end]
        rep = self.n_heads // self.n_kv_heads
        att = q @ k.repeat_interleave(rep, 1).mT * self.d_h ** -0.5
        ok = torch.arange(end, device=x.device) <= torch.arange(start, end, device=x.device)[:, None]
        att = att.masked_fill(~ok, float("-inf")).softmax(-1)
        y = att @ v.repeat_interleave(rep, 1)
        return self.dense(y.transpose(1, 2).flatten(2)), (k, v)
