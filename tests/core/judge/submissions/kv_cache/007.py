import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model")
        if n_heads % n_kv_heads:
            raise ValueError("n_kv_heads")
        self.nh, self.nkv = n_heads, n_kv_heads
        self.hs = d_model // n_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_kv = nn.Linear(d_model, 2 * n_kv_heads * self.hs)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q = self.to_q(x).view(b, t, self.nh, self.hs).transpose(1, 2)
        new_k, new_v = (u.view(b, t, self.nkv, self.hs).transpose(1, 2) for u in self.to_kv(x).chunk(2, dim=-1))
        if cache is None:
            all_k, all_v = new_k, new_v
        else:
            old_k, old_v = cache
            all_k, all_v = torch.cat([old_k, new_k], -2), torch.cat([old_v, new_v], -2)
        total = all_k.size(-2)
        k = all_k.unsqueeze(2).expand(-1, -1, self.nh // self.nkv, -1, -1).reshape(b, self.nh, total, self.hs)
        v = all_v.unsqueeze(2).expand(-1, -1, self.nh // self.nkv, -1, -1).reshape(b, self.nh, total, self.hs)
        att = q @ k.mT * self.hs ** -0.5
        att = att + torch.full((t, total), float("-inf"), dtype=att.dtype, device=att.device).triu(total - t + 1)
        y = (att.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1)
        return self.to_out(y), (new_k, new_v)
