import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    s = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
    e = s.exp()
    if mask is not None:
        e = torch.where(mask.bool(), e, torch.zeros_like(e))
    z = e.sum(dim=-1, keepdim=True)
    return torch.einsum("bhij,bhjd->bhid", e, v) / z
