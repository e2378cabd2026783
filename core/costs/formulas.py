"""Counts that follow from the sizes alone.

A FLOP is one multiplication or one addition, so that an (m, k) @ (k, n) product costs 2·m·k·n, as
`torch.utils.flop_counter` counts. Only matrix products count: softmax, scale, mask and bias are left out.
All sizes are whole numbers of at least 1; anything else raises BadInput (a ValueError).

    B batch, Lq / Lk query / key positions, L where both are the same, H = n_heads, H_kv = n_kv_heads,
    d_h per-head size, d_model features of a token
"""

from fractions import Fraction

from core.errors import BadInput


def score_count(*, B: int, n_heads: int, Lq: int, Lk: int) -> int:
    """Entries of scores (B, H, Lq, Lk): B·H·Lq·Lk numbers, one exponential of the softmax for each."""
    _check(B=B, n_heads=n_heads, Lq=Lq, Lk=Lk)
    return B * n_heads * Lq * Lk


def attention_flops(*, B: int, n_heads: int, Lq: int, Lk: int, d_h: int) -> int:
    """FLOPs of q @ k^T and attn @ v in one layer: 4·B·H·Lq·Lk·d_h.

    Each of the B·H heads multiplies (Lq, d_h) @ (d_h, Lk) and (Lq, Lk) @ (Lk, d_h), 2·Lq·Lk·d_h each. With
    H·d_h = d_model this is 4·B·Lq·Lk·d_model, whatever H is; and it does not depend on H_kv.
    Source: Vaswani et al., 2017, arXiv:1706.03762, section 3.2.2 and table 1.
    """
    _check(B=B, n_heads=n_heads, Lq=Lq, Lk=Lk, d_h=d_h)
    return 4 * B * n_heads * Lq * Lk * d_h


def projection_parameters(*, d_model: int, n_heads: int, n_kv_heads: int, d_h: int) -> int:
    """Weights of W_q, W_k, W_v and W_o in one layer, without biases: 2·d_model·(H + H_kv)·d_h.

    W_q and W_o join d_model with H·d_h, W_k and W_v join d_model with H_kv·d_h. MHA where H·d_h = d_model:
    4·d_model².
    """
    _check(d_model=d_model, d_h=d_h)
    _check_heads(n_heads, n_kv_heads)
    return 2 * d_model * (n_heads + n_kv_heads) * d_h


def projection_flops(*, B: int, L: int, d_model: int, n_heads: int, n_kv_heads: int, d_h: int) -> int:
    """FLOPs of the four projections of B·L tokens in one layer: two a weight and token."""
    _check(B=B, L=L)
    weights = projection_parameters(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads, d_h=d_h)
    return 2 * B * L * weights


def crossover_length(*, d_model: int, n_heads: int, n_kv_heads: int) -> Fraction:
    """The L at which q @ k^T and attn @ v cost as many FLOPs as the four projections: d_model·(H + H_kv) / H.

    From 4·L²·H·d_h = 4·L·d_model·(H + H_kv)·d_h, every query attending to all L keys. MHA: 2·d_model.
    """
    _check(d_model=d_model)
    _check_heads(n_heads, n_kv_heads)
    return Fraction(d_model * (n_heads + n_kv_heads), n_heads)


def kv_bytes_per_token(*, n_layers: int, n_kv_heads: int, d_h: int, bytes_per_element: int = 2) -> int:
    """Bytes that the KV cache grows by with each token: 2·n_layers·H_kv·d_h·bytes_per_element.

    In every layer a token leaves one key and one value for each kv head, d_h numbers each; H does not matter.
    `bytes_per_element` is 2 for float16 and bfloat16, 4 for float32.
    Sources: Shazeer, 2019, arXiv:1911.02150, sections 2.4 and 3; Ainslie et al., 2023, arXiv:2305.13245,
    section 2.2.
    """
    _check(n_layers=n_layers, n_kv_heads=n_kv_heads, d_h=d_h, bytes_per_element=bytes_per_element)
    return 2 * n_layers * n_kv_heads * d_h * bytes_per_element


def kv_cache_bytes(*, B: int, L: int, n_layers: int, n_kv_heads: int, d_h: int, bytes_per_element: int = 2) -> int:
    """Bytes of keys and values (B, H_kv, L, d_h) in all layers: B·L times `kv_bytes_per_token`."""
    _check(B=B, L=L)
    per_token = kv_bytes_per_token(
        n_layers=n_layers, n_kv_heads=n_kv_heads, d_h=d_h, bytes_per_element=bytes_per_element
    )
    return B * L * per_token


def decode_intensity(*, n_heads: int, n_kv_heads: int, bytes_per_element: int = 2) -> Fraction:
    """FLOPs of attention for each byte of KV cache read, when one token is decoded: 2·G / bytes_per_element.

    For one query, 4·H·L·d_h FLOPs (`attention_flops`) meet 2·H_kv·L·d_h numbers of the cache, each read once;
    L and d_h fall out. In 16 bits it is G = H / H_kv itself: 1 for MHA, H for MQA.
    """
    _check(bytes_per_element=bytes_per_element)
    _check_heads(n_heads, n_kv_heads)
    return Fraction(2 * n_heads, n_kv_heads * bytes_per_element)


def _check(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise BadInput("costs.size-not-positive", name=name, size=size)


def _check_heads(n_heads: int, n_kv_heads: int) -> None:
    _check(n_heads=n_heads, n_kv_heads=n_kv_heads)
    if n_heads % n_kv_heads:
        raise BadInput("costs.heads-not-shared-evenly", n_heads=n_heads, n_kv_heads=n_kv_heads)
