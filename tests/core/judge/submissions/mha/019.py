import torch
from torch import nn


class 单头:
    """一个注意力头"""

    def __init__(self, d_model, d_k):
        self.q = nn.Linear(d_model, d_k)
        self.k = nn.Linear(d_model, d_k)
        self.v = nn.Linear(d_model, d_k)

    def __call__(self, x, 可见):
        q, k, v = self.q(x), self.k(x), self.v(x)
        分数 = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if 可见 is not None:
            分数 = 分数.masked_fill(可见 == 0, float("-inf"))
        return torch.softmax(分数, dim=-1) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = [单头(d_model, d_model // n_heads) for _ in range(n_heads)]
        self.fc = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        # 每个头各算各的，最后拼接
        B, L, _ = x.shape
        H = len(self.heads)
        m = [None] * H if mask is None else mask.expand(B, H, L, L).unbind(1)
        return self.fc(torch.cat([头(x, m[i]) for i, 头 in enumerate(self.heads)], dim=-1))
