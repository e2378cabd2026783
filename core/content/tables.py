"""The tables beside the follow-up questions, as numbers; the page writes the headings and the units."""

from typing import NamedTuple

from core import costs
from core.costs import ModelConfig


class HeadsRow(NamedTuple):
    """One layer with the same d_model cut into `n_heads`."""

    n_heads: int
    d_h: int
    attention_flops: int
    projection_parameters: int
    scores: int
    score_bytes: int
    """In half precision, if the scores are written to memory."""


class CacheRow(NamedTuple):
    """What one model keeps in its KV cache, in half precision."""

    model: ModelConfig
    bytes_per_token: int
    bytes_per_token_as_mha: int
    bytes_at_context: int
    """Of one sequence as long as the model allows."""


def heads_table() -> tuple[HeadsRow, ...]:
    """A layer of Llama 2 7B at its full context: with a single head, with its own 32, and with more and fewer."""
    model = costs.config("llama-2-7b")
    return tuple(_heads_row(model, n_heads) for n_heads in (1, 8, 32, 128))


def cache_table() -> tuple[CacheRow, ...]:
    """Every model of `core.costs`, the largest share saved last."""
    rows = (
        CacheRow(
            model=model,
            bytes_per_token=model.kv_bytes_per_token,
            bytes_per_token_as_mha=model.kv_bytes_per_token * model.group,
            bytes_at_context=model.kv_bytes_per_token * model.context,
        )
        for model in costs.configs()
    )
    return tuple(sorted(rows, key=lambda row: row.model.group))


def _heads_row(model: ModelConfig, n_heads: int) -> HeadsRow:
    L, d_h = model.context, model.d_model // n_heads
    scores = costs.score_count(B=1, n_heads=n_heads, Lq=L, Lk=L)
    return HeadsRow(
        n_heads=n_heads,
        d_h=d_h,
        attention_flops=costs.attention_flops(B=1, n_heads=n_heads, Lq=L, Lk=L, d_h=d_h),
        projection_parameters=costs.projection_parameters(
            d_model=model.d_model, n_heads=n_heads, n_kv_heads=n_heads, d_h=d_h
        ),
        scores=scores,
        score_bytes=2 * scores,
    )
