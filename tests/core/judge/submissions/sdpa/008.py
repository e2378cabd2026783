import torch
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    """Thin wrapper; torch does the work."""
    attn_mask = None
    if mask is not None:
        attn_mask = mask == 0  # True = padding
    return F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
