import torch
import torch.nn as nn
import torch.nn.functional as F


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.n_kv_heads = n_kv_heads
        self.rep = n_heads // n_kv_heads
        self.d_k = d_model // n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * n_kv_heads * self.d_k)
        self.output = nn.Linear(d_model, d_model)

    @staticmethod
    def join(old, new):
        n_old, n_new = old.size(2), new.size(2)
        return F.pad(old, (0, 0, n_new, 0)) + F.pad(new, (0, 0, 0, n_old))

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.query(x).view(B, L, self.n_kv_heads, self.rep, self.d_k).permute(0, 2, 3, 1, 4)
        k, v = self.key_value(x).view(B, L, 2, self.n_kv_heads, self.d_k).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = self.join(cache[0], k), self.join(cache[1], v)
        T = k.size(2)
        s = torch.einsum("bkgld,bktd->bkglt", q, k) / self.d_k ** 0.5
        late = torch.arange(T, device=x.device) > torch.arange(T - L, T, device=x.device)[:, None]
        s = s.masked_fill(late, float("-inf"))
        y = torch.einsum("bkglt,bktd->blkgd", s.softmax(-1), v)
        return self.output(y.reshape(B, L, D)), (k, v)
