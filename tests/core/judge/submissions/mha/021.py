import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.scale = (d_model // n_heads) ** 0.5
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch_size, seq_len, hid_dim = x.shape

        Q = self.fc_q(x).view(batch_size, seq_len, self.n_heads, -1).permute(0, 2, 1, 3)
        K = self.fc_k(x).view(batch_size, seq_len, self.n_heads, -1).permute(0, 2, 1, 3)
        V = self.fc_v(x).view(batch_size, seq_len, self.n_heads, -1).permute(0, 2, 1, 3)

        energy = torch.matmul(Q, K.permute(0, 1, 3, 2)) / self.scale
        if mask is not None:
            additive = mask.to(energy.dtype)
            energy = energy + additive

        attention = F.softmax(energy, dim=-1)
        x = torch.matmul(attention, V).permute(0, 2, 1, 3).reshape(batch_size, seq_len, hid_dim)
        return self.fc_o(x)
