import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{d_model} features, {n_heads} heads?")
        self.n_heads = n_heads

        def projection():
            return nn.Sequential(nn.Linear(d_model, d_model), nn.ReLU())

        self.q_net, self.k_net, self.v_net = projection(), projection(), projection()
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (net(x).unflatten(2, (self.n_heads, -1)).transpose(1, 2) for net in (self.q_net, self.k_net, self.v_net))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.out(torch.einsum("bhqk,bhkd->bqhd", scores.softmax(-1), v).flatten(2))
