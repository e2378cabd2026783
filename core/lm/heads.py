"""What can be said of a head in numbers: how widely it looks, and how much of it goes to places that have a name."""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class HeadNumbers(NamedTuple):
    """Tensors (…), a number for each head: the mean over all queries but the first.

    The first query is left out because it has no previous token and, in a causal model, no choice but itself.
    A text of one token has no other query, so all four are NaN.
    """

    entropy: Tensor  # bits: 0 for a head that looks at one token at a time, log2(k) for one that looks at k alike
    previous: Tensor  # weight on the token just before the query
    first: Tensor  # weight on the first token, the attention sink (Xiao et al., 2023, arXiv:2309.17453)
    itself: Tensor  # weight on the query's own token


class Key(NamedTuple):
    """A key token by its place in the text, and the weight that a query gives it."""

    position: int
    weight: float


@torch.no_grad()
def describe(weights: Tensor) -> HeadNumbers:
    """The numbers of each head of `weights` (…, L, L), whose rows sum to 1 as in `core.lm.model.Attention`."""
    rows = weights[..., 1:, :]  # (…, L - 1, L)
    entropy = -torch.xlogy(rows, rows).sum(-1) / math.log(2)  # (…, L - 1)
    return HeadNumbers(
        entropy=entropy.mean(-1),
        previous=rows.diagonal(dim1=-2, dim2=-1).mean(-1),
        first=rows[..., 0].mean(-1),
        itself=rows.diagonal(offset=1, dim1=-2, dim2=-1).mean(-1),
    )


def strongest_keys(weights: Tensor, query: int, n: int) -> list[Key]:
    """The `n` keys that token `query` attends to most in one head's `weights` (L, L), the strongest first.

    Fewer where the text is shorter; keys of weight 0 are left out. Raises IndexError for a query outside the text.
    """
    found = weights[query].topk(min(n, weights.size(1)))
    pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [Key(position, weight) for position, weight in pairs if weight > 0]


def clearest_query(weights: Tensor) -> int:
    """The token that looks most decidedly at one other, in one head's `weights` (L, L): worth reading out first.

    Decided is a large weight among many keys to choose from: weight * log2(keys with any weight). Looks at oneself and
    at the first token do not count, since a head that finds nothing rests there. The last token where none looks
    elsewhere.
    """
    L = weights.size(0)
    elsewhere = weights.masked_fill(torch.eye(L, dtype=torch.bool), 0)  # (L, L)
    elsewhere[:, 0] = 0
    decided = elsewhere.amax(dim=1) * (weights > 0).sum(dim=1).log2()  # (L,)
    return int(decided.argmax()) if decided.max() > 0 else L - 1
