import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("hidden_size must be divisible by num_heads")
        if n_heads % n_kv_heads != 0:
            raise ValueError("num_heads must be divisible by num_key_value_heads")
        self.num_heads, self.num_key_value_heads = n_heads, n_kv_heads
        self.head_dim = d_model // n_heads
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=True)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=True)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=True)
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=False)

    def forward(self, x, cache=None):
        bsz, q_len, _ = x.size()
        query_states = self.q_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        key_states = self.k_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        value_states = self.v_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)

        past_len = 0
        if cache is not None:
            past_len = cache[0].shape[-2]
            key_states = torch.cat([cache[0], key_states], dim=-2)
            value_states = torch.cat([cache[1], value_states], dim=-2)
        present = (key_states, value_states)

        kv_pos = torch.arange(past_len + q_len, device=x.device)
        causal = kv_pos <= kv_pos[past_len:, None]                       # (q_len, kv_len)
        bias = torch.zeros(causal.shape, dtype=x.dtype, device=x.device).masked_fill(~causal, -math.inf)
        groups = self.num_heads // self.num_key_value_heads
        key_states = key_states.repeat_interleave(groups, dim=1)
        value_states = value_states.repeat_interleave(groups, dim=1)
        attn = query_states @ key_states.transpose(2, 3) / math.sqrt(self.head_dim) + bias
        out = F.softmax(attn, dim=-1) @ value_states
        return self.o_proj(out.transpose(1, 2).reshape(bsz, q_len, -1)), present
