import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model, bias=False) for _ in "qkvo")

    def forward(self, x):
        seen_k, seen_v, ys = [], [], []
        for token in x.unbind(dim=1):                                  # (B, d_model)
            q, k, v = (w(token).unflatten(-1, (self.h, -1)) for w in (self.wq, self.wk, self.wv))
            seen_k.append(k)
            seen_v.append(v)
            keys, values = torch.stack(seen_k, 2), torch.stack(seen_v, 2)      # (B, H, t, d_h)
            p = torch.einsum("bhd,bhtd->bht", q, keys).div(q.size(-1) ** 0.5).softmax(-1)
            ys.append(torch.einsum("bht,bhtd->bhd", p, values).flatten(1))
        return self.wo(torch.stack(ys, 1))
