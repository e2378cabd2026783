"""Attention block by block with a running softmax, so that no (Lq, Lk) matrix is ever made.

The inner loop of FlashAttention (Dao et al., 2022, algorithm 1), after Milakov and Gimelshein, 2018.
"""

import torch


def blockwise_attention(q, k, v, block_size):
    """From queries q (B, H, Lq, d), keys k and values v (B, H, Lk, d) to (B, H, Lq, d), `block_size` keys at a time."""
    if block_size < 1:
        raise ValueError(f"block_size = {block_size}, and a block holds at least one key")
    d = q.size(-1)
    top = q.new_full((*q.shape[:-1], 1), float("-inf"))  # (B, H, Lq, 1), the highest score so far
    total = torch.zeros_like(top)  # the sum of exp(score - top) so far
    out = torch.zeros_like(q)  # (B, H, Lq, d), the values so far, each times its exp(score - top)

    for start in range(0, k.size(-2), block_size):
        block = slice(start, start + block_size)
        scores = q @ k[..., block, :].transpose(-2, -1) / d**0.5  # (B, H, Lq, block)
        new_top = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        weights = (scores - new_top).exp()
        # What was summed under the old top is brought under the new one; in the first round by exp(-inf) = 0.
        rescale = (top - new_top).exp()
        total = total * rescale + weights.sum(dim=-1, keepdim=True)
        out = out * rescale + weights @ v[..., block, :]
        top = new_top

    return out / total
