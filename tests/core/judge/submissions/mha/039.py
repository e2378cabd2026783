import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.nheads = n_heads
        self.WQ = nn.Linear(d_model, d_model, bias=False)
        self.WK = nn.Linear(d_model, d_model, bias=False)
        self.WV = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        B, S, D = x.shape
        Q, K, V = (W(x).reshape(B, S, self.nheads, D // self.nheads) for W in (self.WQ, self.WK, self.WV))
        logits = torch.einsum("bxhd,byhd->bhxy", Q, K) / (D // self.nheads) ** 0.5
        if mask is not None:
            logits = logits.masked_fill(~(mask > 0), float("-inf"))
        probs = torch.nn.functional.softmax(logits, dim=-1)
        heads = torch.einsum("bhyx,byhd->bxhd", probs, V)
        return self.out(heads.reshape(B, S, D))
