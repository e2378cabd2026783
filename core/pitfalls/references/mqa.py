"""Multi-query attention (Shazeer, 2019): all query heads share a single head of keys and values."""

from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, self.d_h)
        self.w_v = nn.Linear(d_model, self.d_h)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        """x (B, L, d_model) to itself. `mask` is bool or 0/1, broadcasts to (B, H, L, L), True / 1 = may attend."""
        B, L, d_model = x.shape
        q = self.w_q(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)
        # One head for all: the matrix products below broadcast it, nothing is repeated in memory.
        k = self.w_k(x).view(B, L, 1, self.d_h).transpose(1, 2)  # (B, 1, L, d_h)
        v = self.w_v(x).view(B, L, 1, self.d_h).transpose(1, 2)  # (B, 1, L, d_h)

        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, L, L)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = scores.softmax(dim=-1)
        if mask is not None:
            # A query that may attend to nothing has a row of -inf, which softmax turns into nan: it takes nothing.
            attn = attn.masked_fill(scores.isneginf().all(dim=-1, keepdim=True), 0.0)
        out = attn @ v  # (B, H, L, d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d_model)
        return self.w_o(out)
