import torch
import torch.nn as nn


def glorot(n_in, n_out):
    return nn.Parameter(torch.empty(n_in, n_out).uniform_(-1, 1) * (6 / (n_in + n_out)) ** 0.5)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model / n_heads is not whole")
        self.H = n_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (glorot(d_model, d_model) for _ in range(4))
        self.bq, self.bk, self.bv, self.bo = (nn.Parameter(torch.zeros(d_model)) for _ in range(4))

    def forward(self, x, mask=None):
        B, L, d = x.shape
        Q = torch.stack((x @ self.Wq + self.bq).chunk(self.H, dim=-1), dim=1)
        K = torch.stack((x @ self.Wk + self.bk).chunk(self.H, dim=-1), dim=1)
        V = torch.stack((x @ self.Wv + self.bv).chunk(self.H, dim=-1), dim=1)
        S = Q @ K.mT / (d / self.H) ** 0.5
        if mask is not None:
            S = S.masked_fill(mask.eq(0), -float("inf"))
        A = S.softmax(-1)
        Z = A @ V
        return torch.cat(Z.unbind(1), dim=-1) @ self.Wo + self.bo
