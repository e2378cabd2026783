import torch


def _part(q, k, v):
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    lse = torch.logsumexp(s, dim=-1, keepdim=True)
    return torch.exp(s - lse) @ v, lse


def blockwise_attention(q, k, v, block_size):
    out, lse = None, None
    for start in range(0, k.size(2), block_size):
        stop = start + block_size
        o, e = _part(q, k[:, :, start:stop], v[:, :, start:stop])
        if out is None:
            out, lse = o, e
        else:
            share = torch.sigmoid(e - lse)
            out = out + share * (o - out)
            lse = torch.logaddexp(lse, e)
    return out
