from torch import Tensor, exp, maximum


def blockwise_attention(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    n_keys, d = k.shape[-2:]
    q = q / d ** 0.5
    first = min(block_size, n_keys)
    s = q @ k[..., :first, :].mT
    peak = s.amax(-1, True)
    w = exp(s - peak)
    total = w.sum(-1, True)
    mean = w @ v[..., :first, :] / total
    at = first
    while at < n_keys:
        end = min(at + block_size, n_keys)
        s = q @ k[..., at:end, :].mT
        new_peak = maximum(peak, s.amax(-1, True))
        w = exp(s - new_peak)
        old_total = total * exp(peak - new_peak)
        total = old_total + w.sum(-1, True)
        mean = (mean * old_total + w @ v[..., at:end, :]) / total
        peak, at = new_peak, end
    return mean
