"""What attention costs: exact counts from the sizes alone, and the sizes of real models.

Nothing here imports torch; every result is an exact integer or fraction.
"""

from core.costs.formulas import (
    attention_flops,
    crossover_length,
    decode_intensity,
    kv_bytes_per_token,
    kv_cache_bytes,
    projection_flops,
    projection_parameters,
    score_count,
)
from core.costs.models import ModelConfig, config, configs
from core.costs.units import bytes_text, flops_text

__all__ = [
    "ModelConfig",
    "attention_flops",
    "bytes_text",
    "config",
    "configs",
    "crossover_length",
    "decode_intensity",
    "flops_text",
    "kv_bytes_per_token",
    "kv_cache_bytes",
    "projection_flops",
    "projection_parameters",
    "score_count",
]
