import torch


def blockwise_attention(q, k, v, block_size):
    B, H, Lq, d = q.shape
    run_max = q.new_full((B, H, Lq, 1), float("-inf"))
    run_sum = q.new_zeros(B, H, Lq, 1)
    acc = q.new_zeros(B, H, Lq, v.shape[-1])
    for i in range(0, k.shape[2], block_size):
        kb = k[:, :, i:i + block_size]
        vb = v[:, :, i:i + block_size]
        scores = q @ kb.transpose(2, 3) / d ** 0.5
        block_max = scores.max(dim=-1, keepdim=True).values
        new_max = torch.maximum(run_max, block_max)
        correction = torch.exp(run_max - new_max)
        p = torch.exp(scores - new_max)
        run_sum = run_sum * correction + p.sum(dim=-1, keepdim=True)
        acc = acc + p @ vb
        run_max = new_max
    return acc / run_sum
