import torch
import torch.nn as nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.H, self.K = n_heads, n_kv_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.v_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.o_proj = nn.Linear(d_model, d_model)

    def padded(self, t, room):
        # nan, so that a slot that was never written is noticed
        extra = t.new_full((*t.shape[:2], room - t.shape[2], t.shape[3]), float("nan"))
        return torch.cat([t, extra], dim=2).repeat_interleave(self.H // self.K, dim=1)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.q_proj(x).view(B, L, self.H, -1).transpose(1, 2)
        k = self.k_proj(x).view(B, L, self.K, -1).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.K, -1).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        T = k.shape[2]
        room = 1 << T.bit_length()
        K, V = self.padded(k, room), self.padded(v, room)
        pos = torch.arange(T - L, T, device=x.device)
        hidden = torch.arange(room, device=x.device) > pos[:, None]
        s = (q @ K.mT / q.shape[-1] ** 0.5).masked_fill(hidden, float("-inf"))
        y = s.softmax(dim=-1) @ V
        return self.o_proj(y.transpose(1, 2).reshape(B, L, D)), (k, v)
