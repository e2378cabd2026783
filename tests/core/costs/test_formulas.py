"""The formulas against counts of real runs and bytes really allocated."""

from fractions import Fraction
from inspect import signature

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaModel

from core import costs
from core.content.standard_answer import MultiHeadAttention
from core.errors import BadInput

SIZES = [  # B, L, n_heads, d_h
    (1, 1, 1, 1),
    (2, 10, 8, 8),
    (3, 7, 4, 5),
    (1, 33, 1, 24),
    (2, 16, 12, 2),
]


def counted(function, *args) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        function(*args)
    return counter.get_total_flops()


@pytest.mark.parametrize(("B", "L", "n_heads", "d_h"), SIZES)
def test_flops_of_the_standard_answer_are_those_counted(B, L, n_heads, d_h):
    d_model = n_heads * d_h
    expected = costs.projection_flops(
        B=B, L=L, d_model=d_model, n_heads=n_heads, n_kv_heads=n_heads, d_h=d_h
    ) + costs.attention_flops(B=B, n_heads=n_heads, Lq=L, Lk=L, d_h=d_h)
    assert counted(MultiHeadAttention(d_model, n_heads), torch.randn(B, L, d_model)) == expected


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(6, 6), (6, 3), (6, 2), (6, 1)])
def test_flops_with_shared_kv_heads_and_a_longer_context(n_heads, n_kv_heads):
    B, Lq, Lk, d_h, d_model = 2, 5, 9, 4, 20
    w_q, w_o = nn.Linear(d_model, n_heads * d_h), nn.Linear(n_heads * d_h, d_model)
    w_k, w_v = nn.Linear(d_model, n_kv_heads * d_h), nn.Linear(d_model, n_kv_heads * d_h)
    x = torch.randn(B, Lq, d_model)

    def project():
        w_q(x), w_k(x), w_v(x), w_o(torch.randn(B, Lq, n_heads * d_h))

    def attend():
        q = torch.randn(B, n_heads, Lq, d_h)
        k, v = (torch.randn(B, n_kv_heads, Lk, d_h).repeat_interleave(n_heads // n_kv_heads, 1) for _ in "kv")
        return (q @ k.transpose(-2, -1)).softmax(-1) @ v

    heads = {"n_heads": n_heads, "n_kv_heads": n_kv_heads, "d_h": d_h}
    assert counted(project) == costs.projection_flops(B=B, L=Lq, d_model=d_model, **heads)
    assert counted(attend) == costs.attention_flops(B=B, n_heads=n_heads, Lq=Lq, Lk=Lk, d_h=d_h)
    parameters = sum(layer.weight.numel() for layer in (w_q, w_k, w_v, w_o))
    assert parameters == costs.projection_parameters(d_model=d_model, **heads)


def test_score_count_is_the_size_of_the_scores():
    B, H, Lq, Lk, d_h = 2, 3, 4, 7, 5
    scores = torch.randn(B, H, Lq, d_h) @ torch.randn(B, H, d_h, Lk)
    assert costs.score_count(B=B, n_heads=H, Lq=Lq, Lk=Lk) == scores.numel()


@settings(deadline=None)
@given(
    st.integers(1, 64),
    st.integers(1, 64),
    st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24]),
    st.sampled_from([1, 2]),
)
def test_splitting_into_heads_costs_no_flops_but_more_scores(B, L, n_heads, d_h_factor):
    d_model = 24 * d_h_factor
    one = {"B": B, "n_heads": 1, "Lq": L, "Lk": L}
    many = {**one, "n_heads": n_heads}
    assert costs.attention_flops(**many, d_h=d_model // n_heads) == costs.attention_flops(**one, d_h=d_model)
    assert costs.score_count(**many) == n_heads * costs.score_count(**one)


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 16), st.integers(1, 8), st.integers(1, 16))
def test_at_the_crossover_attention_costs_what_the_projections_cost(d_model, n_kv_heads, group, d_h):
    n_heads = n_kv_heads * group
    heads = {"n_heads": n_heads, "n_kv_heads": n_kv_heads}
    L = costs.crossover_length(d_model=d_model, **heads)

    def attention(length: int) -> int:
        return costs.attention_flops(B=1, n_heads=n_heads, Lq=length, Lk=length, d_h=d_h)

    def projections(length: int) -> int:
        return costs.projection_flops(B=1, L=length, d_model=d_model, d_h=d_h, **heads)

    if L.denominator == 1:
        assert attention(int(L)) == projections(int(L))
    below, above = int(L), int(L) + 1
    assert attention(above) > projections(above)
    assert attention(below) <= projections(below)


def test_crossover_of_multi_head_attention_is_twice_d_model():
    assert costs.crossover_length(d_model=64, n_heads=8, n_kv_heads=8) == 128
    assert costs.crossover_length(d_model=64, n_heads=8, n_kv_heads=1) == Fraction(64 * 9, 8)


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kv_bytes_are_those_that_a_language_model_allocates(n_kv_heads, dtype):
    B, L, n_layers, d_h = 2, 11, 3, 8
    config = LlamaConfig(
        vocab_size=16,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=n_layers,
        num_attention_heads=4,
        num_key_value_heads=n_kv_heads,
    )
    model = LlamaModel(config).to(dtype).eval()
    with torch.no_grad():
        cache = model(torch.zeros(B, L, dtype=torch.long), use_cache=True).past_key_values
    allocated = sum(
        tensor.untyped_storage().nbytes() for layer in cache.layers for tensor in (layer.keys, layer.values)
    )
    sizes = {"n_layers": n_layers, "n_kv_heads": n_kv_heads, "d_h": d_h, "bytes_per_element": dtype.itemsize}
    assert costs.kv_cache_bytes(B=B, L=L, **sizes) == allocated
    assert costs.kv_bytes_per_token(**sizes) * B * L == allocated
    wrong = costs.kv_cache_bytes(B=B, L=L, **{**sizes, "n_kv_heads": 8})
    assert wrong != allocated


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(8, 8), (8, 2), (8, 1), (71, 1)])
@pytest.mark.parametrize("bytes_per_element", [2, 4])
def test_decode_intensity_is_flops_over_cache_bytes_at_any_length(n_heads, n_kv_heads, bytes_per_element):
    for Lk, d_h in ((1, 64), (977, 128)):
        flops = costs.attention_flops(B=1, n_heads=n_heads, Lq=1, Lk=Lk, d_h=d_h)
        read = costs.kv_cache_bytes(
            B=1, L=Lk, n_layers=1, n_kv_heads=n_kv_heads, d_h=d_h, bytes_per_element=bytes_per_element
        )
        intensity = costs.decode_intensity(n_heads=n_heads, n_kv_heads=n_kv_heads, bytes_per_element=bytes_per_element)
        assert intensity == Fraction(flops, read)
    assert costs.decode_intensity(n_heads=n_heads, n_kv_heads=n_kv_heads) == n_heads // n_kv_heads


FORMULAS = [
    costs.attention_flops,
    costs.crossover_length,
    costs.decode_intensity,
    costs.kv_bytes_per_token,
    costs.kv_cache_bytes,
    costs.projection_flops,
    costs.projection_parameters,
    costs.score_count,
]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
@pytest.mark.parametrize("bad", [0, -3, 2.0, "8", None])
def test_every_size_of_every_formula_is_checked(formula, bad):
    good = dict.fromkeys(signature(formula).parameters, 2)
    assert formula(**good) > 0
    for name in good:
        with pytest.raises(BadInput) as caught:
            formula(**{**good, name: bad})
        assert caught.value.code == "costs.size-not-positive"
        assert caught.value.params == {"name": name, "size": bad}


def test_heads_that_cannot_be_shared_evenly_are_refused():
    with pytest.raises(BadInput, match="n_heads = 8 and n_kv_heads = 3; n_heads is a multiple of n_kv_heads"):
        costs.decode_intensity(n_heads=8, n_kv_heads=3)
