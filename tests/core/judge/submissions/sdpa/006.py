import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    scores = scores * q.size(-1) ** -0.5
    if mask is not None:
        mask = mask.bool()
        scores = scores.masked_fill(~mask, float("-inf"))
        # a padded value must not be used: nan would give it away
        padding = ~mask.any(dim=-2).unsqueeze(-1)
        v = torch.where(padding, torch.full_like(v, float("nan")), v)
    probs = torch.softmax(scores, dim=-1)
    return probs @ v
