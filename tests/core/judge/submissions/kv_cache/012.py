import torch
import torch.nn as nn
import torch.nn.functional as F


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads != 0")
        if n_heads % n_kv_heads:
            raise ValueError("n_heads % n_kv_heads != 0")
        self.H, self.K = n_heads, n_kv_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.v_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.q_proj(x).unflatten(-1, (self.K, self.H // self.K, -1)).permute(0, 2, 3, 1, 4)
        k = self.k_proj(x).unflatten(-1, (self.K, -1)).transpose(1, 2)
        v = self.v_proj(x).unflatten(-1, (self.K, -1)).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        T = k.shape[2]
        room = 1 << (T - 1).bit_length()
        K, V = (F.pad(t, (0, 0, 0, room - T)).unsqueeze(2) for t in (k, v))
        hidden = torch.arange(room, device=x.device) > torch.arange(T - L, T, device=x.device)[:, None]
        s = (q @ K.mT / q.shape[-1] ** 0.5).masked_fill(hidden, float("-inf"))
        y = s.softmax(dim=-1) @ V
        return self.o_proj(y.permute(0, 3, 1, 2, 4).reshape(B, L, D)), (k, v)
