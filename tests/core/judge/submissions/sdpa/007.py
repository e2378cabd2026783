import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    n_features = q.size(3)
    scores = q.matmul(k.mT) / n_features
    if mask is not None:
        scores = scores.masked_fill(mask.bool().logical_not(), float("-inf"))
    top = scores.amax(dim=(-2, -1), keepdim=True)
    e = torch.exp(scores - top)
    weights = e / e.sum(dim=(-2, -1), keepdim=True)
    return weights.matmul(v)
