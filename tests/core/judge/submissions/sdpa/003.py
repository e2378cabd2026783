import math
import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    """For the whiteboard: no masked_fill anywhere."""
    B, H, Lq, d = q.shape
    Lk = k.shape[2]
    keep = torch.ones(B, H, Lq, Lk, dtype=torch.bool, device=q.device) if mask is None else mask.bool().expand(B, H, Lq, Lk)
    rows = []
    for b in range(B):
        for h in range(H):
            for i in range(Lq):
                idx = keep[b, h, i].nonzero().flatten()
                keys, values = k[b, h, idx], v[b, h, idx]
                w = torch.softmax(keys @ q[b, h, i] / math.sqrt(d), dim=0)
                rows.append(w @ values)
    return torch.stack(rows).view(B, H, Lq, v.shape[-1])
