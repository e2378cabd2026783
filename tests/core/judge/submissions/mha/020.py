import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super(MultiHeadAttention, self).__init__()
        assert d_model % n_heads == 0
        self.nhead = n_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        N, L, E = x.shape
        H = self.nhead
        queries = self.query_projection(x).view(N, L, H, -1)
        keys = self.key_projection(x).view(N, L, H, -1)
        values = self.value_projection(x).view(N, L, H, -1)

        QK = torch.einsum("nlhe,nshe->nhls", queries, keys)
        QK = QK * (E // H) ** -0.5
        if mask is not None:
            QK = torch.where(mask.bool(), torch.full_like(QK, float("-inf")), QK)
        A = torch.softmax(QK, dim=-1)
        V = torch.einsum("nhls,nshd->nlhd", A, values)
        return self.out_projection(V.contiguous().view(N, L, -1))
