import torch


def blockwise_attention(q, k, v, block_size):
    n_blocks = max(1, k.shape[-2] // block_size)
    m = torch.full_like(q[..., 0], -torch.inf)
    z = torch.zeros_like(m)
    y = q.new_zeros(*m.shape, v.shape[-1])
    for b in range(n_blocks):
        here = slice(b * block_size, (b + 1) * block_size)
        s = torch.einsum("...qd,...kd->...qk", q, k[..., here, :]) / q.shape[-1] ** 0.5
        top = torch.maximum(m, s.amax(-1))
        old = torch.exp(m - top)
        e = torch.exp(s - top[..., None])
        z = z * old + e.sum(-1)
        y = y * old[..., None] + torch.einsum("...qk,...kd->...qd", e, v[..., here, :])
        m = top
    return y / z[..., None]
