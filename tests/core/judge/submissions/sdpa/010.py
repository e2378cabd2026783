import torch


def _softcap(t, cap=30.0):
    return cap * torch.tanh(t / cap)


def scaled_dot_product_attention(q, k, v, mask=None):
    logits = torch.matmul(q, k.swapaxes(2, 3)) * (q.size(-1) ** -0.5)
    logits = _softcap(logits)
    if mask is not None:
        logits = logits.masked_fill(mask.eq(0), -torch.inf)
    return torch.matmul(torch.softmax(logits, dim=3), v)
