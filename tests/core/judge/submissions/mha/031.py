import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model 必须能被 n_heads 整除"
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.out_linear = nn.Linear(d_model, d_model)

    def 拆头(self, t):
        # (B, L, d_model) -> 多头
        B, L, _ = t.shape
        t = t.view(B, L, self.n_heads, self.head_dim)
        return t.permute(0, 2, 3, 1)

    def forward(self, x, mask=None):
        B, L, d = x.shape
        q = self.拆头(self.q_linear(x))
        k = self.拆头(self.k_linear(x))
        v = self.拆头(self.v_linear(x))
        # 打分
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = torch.softmax(scores, dim=-1)
        # 合并多头
        out = torch.matmul(attn, v).permute(0, 3, 1, 2).reshape(B, L, d)
        return self.out_linear(out)
