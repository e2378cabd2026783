from torch import nn
import torch


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert not d_model % n_heads
        self.n_heads = n_heads
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, d_model)
        self.lin_v = nn.Linear(d_model, d_model)
        self.lin_final = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        per_head = width // self.n_heads
        big_batch = batch * self.n_heads

        q = self.lin_q(x).view(big_batch, length, per_head)
        k = self.lin_k(x).view(big_batch, length, per_head)
        v = self.lin_v(x).view(big_batch, length, per_head)

        scores = torch.bmm(q, k.transpose(1, 2)) / per_head ** 0.5
        if mask is not None:
            hidden = (mask == 0).expand(batch, self.n_heads, length, length)
            scores = scores.masked_fill(hidden.reshape(big_batch, length, length), float("-inf"))
        context = torch.bmm(torch.softmax(scores, dim=2), v)
        return self.lin_final(context.view(batch, length, width))
