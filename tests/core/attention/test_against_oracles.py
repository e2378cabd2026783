"""core.attention against three independent judges: plain loops, nn.MultiheadAttention, and the fused kernel."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from core.attention import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    MultiQueryAttention,
    RoPE,
    causal_mask,
    padding_mask,
)
from core.attention.oracle import attend

TOLERANCE = {"rtol": 0, "atol": 1e-10}


class Sizes(NamedTuple):
    B: int
    L: int
    d_model: int
    n_heads: int
    n_kv_heads: int


SIZES = [
    Sizes(2, 5, 24, 6, 6),  # MHA
    Sizes(2, 5, 24, 6, 2),  # GQA
    Sizes(2, 5, 24, 6, 1),  # MQA
    Sizes(1, 1, 12, 3, 3),  # a single token
    Sizes(1, 4, 8, 1, 1),  # a single head
    Sizes(3, 4, 16, 4, 2),  # H = L = d_h: a wrong axis would keep the shape
]


def make(sizes: Sizes, seed: int = 0, **options: object) -> tuple[GroupedQueryAttention, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    module = GroupedQueryAttention(sizes.d_model, sizes.n_heads, sizes.n_kv_heads, **options).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.4)
    x = torch.randn(sizes.B, sizes.L, sizes.d_model, generator=generator, dtype=torch.float64)
    return module, x


def masks(sizes: Sizes, Lk: int) -> dict[str, Tensor]:
    """One mask of each shape that broadcasts to (B, H, L, Lk); the random ones have rows with nothing to attend to."""
    generator = torch.Generator().manual_seed(7)
    B, L, _, H, _ = sizes

    def random(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator) < 0.4

    every_other = random(B, H, L, Lk)
    every_other[0, 0, 0] = False
    return {
        "(B, H, L, Lk)": every_other,
        "(B, 1, L, Lk)": random(B, 1, L, Lk),
        "(1, H, 1, Lk)": random(1, H, 1, Lk),
        "(L, Lk)": random(L, Lk),
        "(Lk,)": random(Lk),
        "0/1 integers": random(B, 1, 1, Lk).long(),
        "0/1 floats": random(L, Lk).double(),
        "nothing allowed": torch.zeros(L, Lk, dtype=torch.bool),
    }


def by_the_oracle(
    module: GroupedQueryAttention, x: Tensor, context: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    projections = {"q": module.w_q, "k": module.w_k, "v": module.w_v, "o": module.w_o}
    weights = {role: linear.weight.tolist() for role, linear in projections.items()}
    biases = {
        role: linear.bias.tolist() if linear.bias is not None else [0.0] * linear.out_features
        for role, linear in projections.items()
    }
    full = None
    if mask is not None:
        full = mask.expand(x.size(0), module.n_heads, x.size(1), context.size(1)).bool().tolist()

    def may_attend(b: int, h: int, i: int, j: int) -> bool:
        return (full is None or full[b][h][i][j]) and not (module.causal and j > i)

    out, attn = attend(x.tolist(), context.tolist(), weights, biases, module.n_heads, module.n_kv_heads, may_attend)
    return torch.tensor(out, dtype=x.dtype), torch.tensor(attn, dtype=x.dtype)


def assert_both_paths(
    module: GroupedQueryAttention, x: Tensor, mask: Tensor | None = None, context: Tensor | None = None
) -> None:
    expected, expected_attn = by_the_oracle(module, x, x if context is None else context, mask)
    out, attn = module(x, mask, context=context, need_weights=True)
    torch.testing.assert_close(attn, expected_attn, **TOLERANCE)
    torch.testing.assert_close(out, expected, **TOLERANCE)
    torch.testing.assert_close(module(x, mask, context=context), expected, **TOLERANCE)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_equals_the_definition(sizes: Sizes, bias: bool, causal: bool) -> None:
    module, x = make(sizes, bias=bias, causal=causal)
    assert_both_paths(module, x)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", masks(SIZES[0], 5))
@pytest.mark.parametrize("causal", [False, True])
def test_equals_the_definition_under_a_mask(sizes: Sizes, name: str, causal: bool) -> None:
    module, x = make(sizes, causal=causal)
    assert_both_paths(module, x, masks(sizes, sizes.L)[name])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_cross_attention_equals_the_definition(sizes: Sizes, masked: bool) -> None:
    module, x = make(sizes)
    context = torch.randn(sizes.B, 7, sizes.d_model, generator=torch.Generator().manual_seed(5), dtype=x.dtype)
    assert_both_paths(module, x, masks(sizes, 7)["(B, H, L, Lk)"] if masked else None, context)


@pytest.mark.parametrize("sizes", [s for s in SIZES if s.n_kv_heads == s.n_heads], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_mha_equals_pytorchs_own_layer(sizes: Sizes, causal: bool) -> None:
    module, x = make(sizes, causal=causal)
    layer = nn.MultiheadAttention(sizes.d_model, sizes.n_heads, batch_first=True).double().eval()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([module.w_q.weight, module.w_k.weight, module.w_v.weight]))
        layer.in_proj_bias.copy_(torch.cat([module.w_q.bias, module.w_k.bias, module.w_v.bias]))
        layer.out_proj.weight.copy_(module.w_o.weight)
        layer.out_proj.bias.copy_(module.w_o.bias)
    hidden = ~causal_mask(sizes.L) if causal else None  # its True means: may not attend
    expected, expected_attn = layer(x, x, x, attn_mask=hidden, average_attn_weights=False)
    out, attn = module(x, need_weights=True)
    torch.testing.assert_close(out, expected, **TOLERANCE)
    torch.testing.assert_close(attn, expected_attn, **TOLERANCE)


def test_the_judges_can_tell_right_from_wrong() -> None:
    """Tiled groups, the wrong scale, a mask upside down: each is further off than any tolerance used here."""
    sizes = Sizes(2, 5, 24, 6, 2)
    module, x = make(sizes)
    right = module(x)
    order = torch.tensor([0, 3, 1, 4, 2, 5])  # query heads as if kv heads were tiled 0 1 0 1 0 1
    wrong, _ = make(sizes)
    with torch.no_grad():
        wrong.w_q.weight.copy_(module.w_q.weight.view(6, 4, 24)[order].reshape(24, 24))
    assert (wrong(x) - right).abs().max() > 1e-3
    wrong, _ = make(sizes)
    with torch.no_grad():
        wrong.w_q.weight.mul_((4 / 24) ** 0.5)
        wrong.w_q.bias.mul_((4 / 24) ** 0.5)
    assert (wrong(x) - right).abs().max() > 1e-3
    mask = causal_mask(5)
    assert (module(x, mask) - module(x, ~mask)).abs().max() > 1e-3


@pytest.mark.parametrize(("built", "n_kv_heads"), [(MultiHeadAttention(24, 6), 6), (MultiQueryAttention(24, 6), 1)])
def test_mha_and_mqa_are_the_same_module_and_one_integer(built: GroupedQueryAttention, n_kv_heads: int) -> None:
    twin = GroupedQueryAttention(24, 6, n_kv_heads)
    twin.load_state_dict(built.state_dict())
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(0))
    assert torch.equal(built(x), twin(x))
    assert built.w_k.weight.shape == (n_kv_heads * 4, 24)


@pytest.mark.parametrize("chunks", [(6,), (1,) * 6, (2, 3, 1), (5, 1), (1, 5)])
@pytest.mark.parametrize("sizes", [s for s in SIZES if s.d_model // s.n_heads % 2 == 0], ids=str)
@pytest.mark.parametrize("pairing", ["halves", "neighbours", None])
@pytest.mark.parametrize("need_weights", [False, True])
def test_any_chunks_through_the_cache_equal_one_pass(
    chunks: tuple[int, ...], sizes: Sizes, pairing: str | None, need_weights: bool
) -> None:
    rope = RoPE(sizes.d_model // sizes.n_heads, pairing=pairing) if pairing else None
    module, x = make(sizes._replace(L=6), causal=True, rope=rope)
    whole, whole_attn = module(x, need_weights=True)
    cache, parts, start = KVCache(), [], 0
    for length in chunks:
        out = module(x[:, start : start + length], cache=cache, need_weights=need_weights)
        if need_weights:
            out, attn = out
            torch.testing.assert_close(attn, whole_attn[:, :, start : start + length, : start + length], **TOLERANCE)
        parts.append(out)
        start += length
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **TOLERANCE)
    assert cache.k is not None
    assert cache.k.shape == (sizes.B, sizes.n_kv_heads, 6, sizes.d_model // sizes.n_heads)
    assert cache.nbytes == 2 * sizes.B * sizes.n_kv_heads * 6 * (sizes.d_model // sizes.n_heads) * 8


def test_a_mask_reaches_the_keys_in_the_cache() -> None:
    """Padding on the left, fed in two chunks: the mask covers all keys so far, those in the cache too."""
    module, x = make(Sizes(2, 6, 24, 6, 2), causal=True)
    keys = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    keys[0, ..., :2] = False
    whole = module(x, keys)
    cache = KVCache()
    parts = [module(x[:, :4], keys[..., :4], cache=cache), module(x[:, 4:], keys, cache=cache)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **TOLERANCE)
    assert (module(x) - whole).abs().max() > 1e-3


def test_padding_does_not_change_the_tokens_before_it() -> None:
    module, x = make(Sizes(2, 5, 24, 6, 2))
    mask = padding_mask(torch.tensor([5, 3]), 5)
    assert mask.shape == (2, 1, 1, 5)
    torch.testing.assert_close(module(x, mask)[1, :3], module(x[1:, :3])[0], **TOLERANCE)
    assert (module(x)[1, :3] - module(x[1:, :3])[0]).abs().max() > 1e-3
