import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    # softmax is safer in single precision
    q32, k32, v32 = q.float(), k.float(), v.float()
    w = torch.einsum("bhqc,bhkc->bhqk", q32, k32) / q.shape[-1] ** 0.5
    if mask is not None:
        w = w.masked_fill(mask == 0, torch.finfo(torch.float32).min)
    w = w.softmax(dim=-1, dtype=torch.float32)
    return torch.einsum("bhqk,bhkc->bhqc", w, v32)
