import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    *lead, lq, d = q.shape
    lk = k.size(-2)
    fold = lambda t: t.reshape(-1, *t.shape[-2:])
    logits = torch.bmm(fold(q), fold(k).transpose(1, 2)) / d ** 0.5
    if mask is not None:
        seen = torch.broadcast_to(mask, (*lead, lq, lk)).reshape(-1, lq, lk)
        logits[seen == 0] = float("-inf")
    return torch.bmm(logits.softmax(2), fold(v)).reshape(*lead, lq, v.size(-1))
