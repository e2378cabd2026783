"""The numbers in the texts. Each is a function of one model's configuration, so that no number is typed in.

Sizes of one layer are those of a sequence at the model's full context; bytes are those of half precision.
"""

from collections.abc import Callable

from core import costs
from core.costs import ModelConfig


def context(model: ModelConfig) -> str:
    return _grouped(model.context)


def heads(model: ModelConfig) -> str:
    return _grouped(model.n_heads)


def kv_heads(model: ModelConfig) -> str:
    return _grouped(model.n_kv_heads)


def group(model: ModelConfig) -> str:
    return _grouped(model.group)


def attention_flops(model: ModelConfig) -> str:
    return costs.flops_text(_attention_flops(model, model.n_heads))


def attention_flops_one_head(model: ModelConfig) -> str:
    return costs.flops_text(_attention_flops(model, 1))


def score_count(model: ModelConfig) -> str:
    return _grouped(_scores(model, model.n_heads))


def score_count_one_head(model: ModelConfig) -> str:
    return _grouped(_scores(model, 1))


def score_bytes(model: ModelConfig) -> str:
    return costs.bytes_text(2 * _scores(model, model.n_heads))


def score_bytes_one_head(model: ModelConfig) -> str:
    return costs.bytes_text(2 * _scores(model, 1))


def projection_parameters(model: ModelConfig) -> str:
    sizes = {"d_model": model.d_model, "d_h": model.d_h}
    return _grouped(costs.projection_parameters(**sizes, n_heads=model.n_heads, n_kv_heads=model.n_kv_heads))


def projection_parameters_one_head(model: ModelConfig) -> str:
    return _grouped(costs.projection_parameters(d_model=model.d_model, n_heads=1, n_kv_heads=1, d_h=model.d_model))


def projection_flops(model: ModelConfig) -> str:
    flops = costs.projection_flops(
        B=1,
        L=model.context,
        d_model=model.d_model,
        n_heads=model.n_heads,
        n_kv_heads=model.n_kv_heads,
        d_h=model.d_h,
    )
    return costs.flops_text(flops)


def crossover_length(model: ModelConfig) -> str:
    length = costs.crossover_length(d_model=model.d_model, n_heads=model.n_heads, n_kv_heads=model.n_kv_heads)
    return _grouped(round(length))


def kv_per_token(model: ModelConfig) -> str:
    return costs.bytes_text(model.kv_bytes_per_token)


def kv_per_token_as_mha(model: ModelConfig) -> str:
    return costs.bytes_text(model.kv_bytes_per_token * model.group)


def kv_at_full_context(model: ModelConfig) -> str:
    return costs.bytes_text(model.kv_bytes_per_token * model.context)


def decode_intensity(model: ModelConfig) -> str:
    return f"{float(costs.decode_intensity(n_heads=model.n_heads, n_kv_heads=model.n_kv_heads)):g}"


FUNCTIONS: dict[str, Callable[[ModelConfig], str]] = {
    function.__name__: function
    for function in (
        context,
        heads,
        kv_heads,
        group,
        attention_flops,
        attention_flops_one_head,
        score_count,
        score_count_one_head,
        score_bytes,
        score_bytes_one_head,
        projection_parameters,
        projection_parameters_one_head,
        projection_flops,
        crossover_length,
        kv_per_token,
        kv_per_token_as_mha,
        kv_at_full_context,
        decode_intensity,
    )
}


def compute(function: str, model_id: str) -> str:
    """The value of that function for that model, as it stands in a text of either language."""
    return FUNCTIONS[function](costs.config(model_id))


def _attention_flops(model: ModelConfig, n_heads: int) -> int:
    L = model.context
    return costs.attention_flops(B=1, n_heads=n_heads, Lq=L, Lk=L, d_h=model.d_model // n_heads)


def _scores(model: ModelConfig, n_heads: int) -> int:
    return costs.score_count(B=1, n_heads=n_heads, Lq=model.context, Lk=model.context)


def _grouped(number: int) -> str:
    return f"{number:,}"
