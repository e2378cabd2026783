"""Multi-head, grouped-query and multi-query attention, as it is asked about and as it runs."""

from core.attention.cache import KVCache
from core.attention.masks import causal_mask, padding_mask
from core.attention.module import GroupedQueryAttention, MultiHeadAttention, MultiQueryAttention
from core.attention.rope import RoPE

__all__ = [
    "GroupedQueryAttention",
    "KVCache",
    "MultiHeadAttention",
    "MultiQueryAttention",
    "RoPE",
    "causal_mask",
    "padding_mask",
]
