import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature
        self.softmax = nn.Softmax(dim=1)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e-9)
        attn = self.softmax(attn)
        return torch.matmul(attn, v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_head = n_heads
        self.w_qs = nn.Linear(d_model, d_model, bias=False)
        self.w_ks = nn.Linear(d_model, d_model, bias=False)
        self.w_vs = nn.Linear(d_model, d_model, bias=False)
        self.fc = nn.Linear(d_model, d_model, bias=False)
        self.attention = ScaledDotProductAttention(temperature=(d_model // n_heads) ** 0.5)

    def forward(self, x, mask=None):
        sz_b, length, d_model = x.size()
        q = self.w_qs(x).view(sz_b, length, self.n_head, -1).transpose(1, 2)
        k = self.w_ks(x).view(sz_b, length, self.n_head, -1).transpose(1, 2)
        v = self.w_vs(x).view(sz_b, length, self.n_head, -1).transpose(1, 2)
        q = self.attention(q, k, v, mask=mask)
        q = q.transpose(1, 2).contiguous().view(sz_b, length, -1)
        return self.fc(q)
