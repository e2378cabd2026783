from torch import nn
from torch.nn import functional as F


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model has to be a multiple of n_heads")
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wkv = nn.Linear(d_model, 2 * d_model)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, context, mask=None):
        q = self.wq(x).unflatten(2, (self.n_heads, -1)).transpose(1, 2)
        k, v = self.wkv(context).unflatten(2, (2, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        if mask is not None:
            mask = mask != 0
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(z.transpose(1, 2).flatten(2))
