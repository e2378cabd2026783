"""Multi-head attention through nn.MultiheadAttention, with the weights of every head to look at."""

from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.mha = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x, mask=None, padding=None):
        """x (B, L, d_model) to itself; returns out (B, L, d_model) and the weights attn (B, H, L, L).

        `mask` broadcasts to (B, H, L, L), `padding` is (B, L); bool or 0/1, True / 1 = may attend. A query that may
        attend to nothing gives nan here: the module has no rule for it.
        """
        B, L, _ = x.shape
        # The module hides where its masks are True, and wants one (L, L) mask for each head of each sample.
        hidden = None if mask is None else (mask == 0).expand(B, self.n_heads, L, L).reshape(-1, L, L)  # (B * H, L, L)
        ignored = None if padding is None else padding == 0  # (B, L)
        out, attn = self.mha(
            x, x, x, attn_mask=hidden, key_padding_mask=ignored, need_weights=True, average_attn_weights=False
        )
        return out, attn
