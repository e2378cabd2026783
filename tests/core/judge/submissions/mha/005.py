import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.w = nn.ParameterDict({n: nn.Parameter(torch.randn(d_model, d_model) / d_model ** .5) for n in "qkvo"})

    def forward(self, x, mask=None):
        bsz, seq, width = x.shape

        def project(name):
            y = x @ self.w[name]
            return y.reshape(bsz, seq, self.h, width // self.h).permute(0, 2, 1, 3)

        q, k, v = project("q"), project("k"), project("v")
        energy = q @ k.permute(0, 1, 3, 2)
        energy = energy / width ** .5
        if mask is not None:
            energy = torch.where(mask > 0, energy, float("-inf"))
        out = energy.softmax(dim=3) @ v
        out = out.permute(0, 2, 1, 3).reshape(bsz, seq, width)
        return out @ self.w["o"]
