"""The definition, number by number: slow, obvious, and sharing no code with the module it judges.

Plain Python floats and loops over batch, head, query, key and feature; nothing is reshaped, transposed or broadcast, so
none of the mistakes that the module could make can be made here too.
"""

import math
from collections.abc import Callable

Rows = list[list[float]]  # a matrix as a list of rows


def attend(
    x: list[Rows],
    context: list[Rows],
    weights: dict[str, Rows],
    biases: dict[str, list[float]],
    n_heads: int,
    n_kv_heads: int,
    may_attend: Callable[[int, int, int, int], bool],
) -> tuple[list[Rows], list[list[Rows]]]:
    """From `x` (B, L, d_model) to `context` (B, Lk, d_model): outputs (B, L, d_model), weights (B, H, L, Lk).

    `weights` and `biases` hold "q", "k", "v" and "o", each matrix as nn.Linear stores it, (features out, features in).
    Head h owns rows h * d_h to (h + 1) * d_h of W_q; query head h reads kv head h // (n_heads / n_kv_heads).
    `may_attend(b, h, i, j)` says whether query i sees key j. A query that sees no key has weights 0.
    """
    d_h = len(weights["q"]) // n_heads
    group = n_heads // n_kv_heads
    outputs, maps = [], []
    for b in range(len(x)):
        q = [_linear(weights["q"], biases["q"], token) for token in x[b]]
        k = [_linear(weights["k"], biases["k"], token) for token in context[b]]
        v = [_linear(weights["v"], biases["v"], token) for token in context[b]]
        head_maps: list[Rows] = []
        concatenated: Rows = [[] for _ in x[b]]
        for h in range(n_heads):
            g = h // group
            rows: Rows = []
            for i in range(len(q)):
                seen = [j for j in range(len(k)) if may_attend(b, h, i, j)]
                score = {
                    j: sum(q[i][h * d_h + c] * k[j][g * d_h + c] for c in range(d_h)) / math.sqrt(d_h) for j in seen
                }
                top = max(score.values(), default=0.0)
                total = sum(math.exp(score[j] - top) for j in seen)
                row = [math.exp(score[j] - top) / total if j in score else 0.0 for j in range(len(k))]
                rows.append(row)
                concatenated[i] += [sum(row[j] * v[j][g * d_h + c] for j in seen) for c in range(d_h)]
            head_maps.append(rows)
        maps.append(head_maps)
        outputs.append([_linear(weights["o"], biases["o"], token) for token in concatenated])
    return outputs, maps


def _linear(weight: Rows, bias: list[float], token: list[float]) -> list[float]:
    return [sum(w * t for w, t in zip(row, token, strict=True)) + b for row, b in zip(weight, bias, strict=True)]
