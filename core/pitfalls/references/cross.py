"""Cross-attention: queries from one sequence, keys and values from another."""

from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of n_heads = {n_heads}")
        self.n_heads = n_heads
        self.d_h = d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, context, mask=None):
        """x (B, Lq, d_model) to context (B, Lk, d_model); the output is as long as x.

        `mask` is bool or 0/1, broadcasts to (B, H, Lq, Lk), and True / 1 means: may attend.
        """
        if x.size(0) != context.size(0):
            raise ValueError(f"x has a batch of {x.size(0)}, context one of {context.size(0)}")
        B, Lq, d_model = x.shape
        Lk = context.size(1)
        q = self.w_q(x).view(B, Lq, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, Lq, d_h)
        k = self.w_k(context).view(B, Lk, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, Lk, d_h)
        v = self.w_v(context).view(B, Lk, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, Lk, d_h)

        scores = q @ k.transpose(-2, -1) / self.d_h**0.5  # (B, H, Lq, Lk)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = scores.softmax(dim=-1)
        if mask is not None:
            # A query that may attend to nothing has a row of -inf, which softmax turns into nan: it takes nothing.
            attn = attn.masked_fill(scores.isneginf().all(dim=-1, keepdim=True), 0.0)
        out = attn @ v  # (B, H, Lq, d_h)
        out = out.transpose(1, 2).contiguous().view(B, Lq, d_model)
        return self.w_o(out)
