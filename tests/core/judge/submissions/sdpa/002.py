from typing import Optional

import torch
from torch import Tensor


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    """softmax(q k^T / sqrt(d)) v over the last two axes.

    mask: True or 1 where a query may look at a key.
    """
    inv_root: float = q.shape[-1] ** -0.5
    score: Tensor = torch.einsum("...qd,...kd->...qk", q, k).multiply(inv_root)
    if mask is not None:
        score = torch.where(mask.to(torch.bool), score, float("-inf"))
    weight: Tensor = torch.exp(score - torch.logsumexp(score, dim=-1, keepdim=True))
    return torch.einsum("...qk,...kd->...qd", weight, v)
