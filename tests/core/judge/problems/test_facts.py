"""The numbers and claims of the follow-ups, computed or shown by runs."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from core import costs
from core.judge.problems import problem, problems
from core.pitfalls import REFERENCES

KIB, MIB, GIB = 2**10, 2**20, 2**30


def answers(id_: str) -> str:
    return " ".join(follow_up.answer.en for follow_up in problem(id_).follow_ups)


def says(id_: str, *facts: str) -> None:
    missing = [fact for fact in facts if fact not in answers(id_)]
    assert not missing


def solution(name: str, *arguments: int) -> Any:
    """The reference called `name`, its module made with `arguments`, in float64."""
    names: dict[str, Any] = {"__name__": "tried"}
    exec(compile(REFERENCES[name].source, f"<{name}>", "exec"), names)
    wanted = names[REFERENCES[name].call]
    return wanted(*arguments).double() if arguments else wanted


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def kv(**sizes: int) -> int:
    return costs.kv_bytes_per_token(**sizes)


def test_every_outside_fact_has_its_source() -> None:
    """An answer that names a paper's model or somebody's library says where it was read."""
    named = ("Llama", "Mistral", "Falcon", "DeepSeek", "vLLM", "flash-attn", "paper", "RoFormer", "FlashAttention-2")
    for task in problems():
        for follow_up in task.follow_ups:
            if any(name in follow_up.answer.en for name in named):
                assert follow_up.source, follow_up.question.en


# sdpa ----------------------------------------------------------------------------------------------------------------


def test_scores_have_the_variance_of_their_length() -> None:
    q, k = randn(2, 4000, 64)
    assert (q * k).sum(-1).var().item() == pytest.approx(64, rel=0.1)


def test_a_query_that_may_attend_to_nothing_gets_zeros_from_torch_and_nan_from_a_softmax() -> None:
    q, k, v = randn(3, 1, 1, 2, 4)
    mask = torch.tensor([[True, True], [False, False]])
    assert F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[..., 1, :].eq(0).all()
    assert torch.full((2,), -math.inf).softmax(-1).isnan().all()


def test_scores_of_a_layer_take_a_gibibyte() -> None:
    says("sdpa", "4·B·H·Lq·Lk·d FLOPs", "32 heads and 4096 tokens", "1 GiB")
    assert costs.score_count(B=1, n_heads=32, Lq=4096, Lk=4096) * 2 == GIB
    assert costs.attention_flops(B=2, n_heads=3, Lq=5, Lk=7, d_h=11) == 4 * 2 * 3 * 5 * 7 * 11


def test_half_precision_overflows_where_the_answer_says() -> None:
    says("sdpa", "65504", "162755")
    assert torch.finfo(torch.float16).max == 65504
    assert round(math.exp(12)) == 162755
    assert torch.tensor(12.0, dtype=torch.float16).exp().isinf()


def test_equal_values_come_out_whatever_the_scores() -> None:
    q, k = randn(2, 2, 3, 5, 4)
    v = torch.full_like(k, 3.0)
    assert torch.allclose(solution("sdpa")(q, k, v), v)


# mha, causal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_heads", [1, 8])
def test_parameters_of_multi_head_attention(n_heads: int) -> None:
    says("mha", "1,050,624")
    layer = solution("mha", 512, n_heads)
    assert sum(parameter.numel() for parameter in layer.parameters()) == 1_050_624 == 4 * 512**2 + 4 * 512


def test_merge_and_output_are_a_sum_over_heads() -> None:
    heads, w_o = randn(2, 3, 5, 4), randn(12, 12)
    merged = heads.transpose(1, 2).reshape(2, 5, 12) @ w_o.T
    apart = torch.stack([heads[:, h] @ w_o[:, 4 * h : 4 * h + 4].T for h in range(3)])
    assert torch.allclose(merged, apart.sum(0))


def test_what_torch_means_by_its_module_arguments() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x, hidden = torch.ones(1, 3, 8), torch.ones(3, 3, dtype=torch.bool).triu(1)
    _, weights = layer(x, x, x, attn_mask=hidden)
    assert weights.shape == (1, 3, 3)  # averaged over 2 heads
    assert weights[0, 0].tolist() == [1.0, 0.0, 0.0]  # True was hidden
    assert not nn.MultiheadAttention(8, 2).batch_first


def test_is_causal_starts_in_the_upper_left_corner() -> None:
    q, (k, v) = randn(1, 1, 1, 4), randn(2, 1, 1, 6, 4)
    assert torch.allclose(F.scaled_dot_product_attention(q, k, v, is_causal=True), v[..., :1, :])


def test_a_buffer_that_is_not_persistent_moves_and_is_not_saved() -> None:
    layer = nn.Linear(2, 2)
    layer.register_buffer("mask", torch.ones(3), persistent=False)
    layer.plain = torch.ones(3)
    layer.to("meta")
    assert "mask" not in layer.state_dict()
    assert (layer.mask.device.type, layer.plain.device.type) == ("meta", "cpu")


# gqa, mqa, kv_cache --------------------------------------------------------------------------------------------------


def test_caches_of_real_models() -> None:
    says("gqa", "128 KiB", "512 KiB", "32 query heads on 8 kv heads", "32 layers")
    assert kv(n_layers=32, n_kv_heads=8, d_h=128) == 128 * KIB
    assert kv(n_layers=32, n_kv_heads=32, d_h=128) == 512 * KIB
    says("mqa", "71 query heads", "8 KiB", "568 KiB")
    assert kv(n_layers=32, n_kv_heads=1, d_h=64) == 8 * KIB
    assert kv(n_layers=32, n_kv_heads=71, d_h=64) == 568 * KIB
    says("kv_cache", "512 KiB", "2 GiB")
    assert costs.kv_cache_bytes(B=1, L=4096, n_layers=32, n_kv_heads=32, d_h=128) == 2 * GIB


def test_sizes_of_the_models_are_those_of_our_table() -> None:
    sizes = {model.id: (model.n_layers, model.n_heads, model.n_kv_heads, model.d_h) for model in costs.configs()}
    assert sizes["llama-3-8b"] == (32, 32, 8, 128)
    assert sizes["llama-2-7b"] == (32, 32, 32, 128)
    assert sizes["falcon-7b"] == (32, 71, 1, 64)


def test_expand_copies_nothing_until_a_reshape() -> None:
    k = randn(2, 3, 5, 4)
    expanded = k[:, :, None].expand(2, 3, 2, 5, 4)
    assert expanded.untyped_storage().data_ptr() == k.untyped_storage().data_ptr()
    assert expanded.reshape(2, 6, 5, 4).untyped_storage().data_ptr() != k.untyped_storage().data_ptr()


def test_projections_of_multi_query_attention() -> None:
    says("mqa", "33,554,432", "1,048,576")
    assert 2 * 4096 * 4096 == 33_554_432
    assert 2 * 4096 * (4096 // 32) == 1_048_576
    assert costs.decode_intensity(n_heads=71, n_kv_heads=71) == 1
    assert costs.decode_intensity(n_heads=71, n_kv_heads=1) == 71


def test_projections_without_a_cache() -> None:
    says("kv_cache", "500,500")
    assert sum(range(1, 1001)) == 500_500


# cross ---------------------------------------------------------------------------------------------------------------


def test_the_order_of_the_context_makes_no_difference() -> None:
    layer, x, context = solution("cross", 12, 3), randn(2, 4, 12), randn(2, 5, 12)
    mask = torch.tensor([True, True, False, True, True])
    order = torch.tensor([3, 0, 4, 2, 1])
    out = layer(x, context, mask)
    assert torch.allclose(layer(x, context[:, order], mask[order]), out)
    assert torch.allclose(layer(x.flip(1), context, mask), out.flip(1))


# rope ----------------------------------------------------------------------------------------------------------------


def rotate(t: torch.Tensor, start: int) -> torch.Tensor:
    names: dict[str, Any] = {"__name__": "tried"}
    exec(compile(REFERENCES["rope"].source, "<rope>", "exec"), names)
    return names["rotate"](t, start)


def test_scores_depend_on_the_distance_only() -> None:
    q, k = randn(2, 1, 1, 5, 8)
    near = rotate(q, 0) @ rotate(k, 0).transpose(-2, -1)
    assert torch.allclose(rotate(q, 90) @ rotate(k, 90).transpose(-2, -1), near)
    assert not torch.allclose(rotate(q, 90) @ rotate(k, 91).transpose(-2, -1), near)
    assert not torch.allclose(rotate(k, 0), rotate(k, 90))  # values would show where they stand


def test_halves_and_neighbours_differ_by_a_permutation_of_features() -> None:
    q, k = randn(2, 1, 1, 5, 8)
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])  # neighbours from halves

    def neighbours(t: torch.Tensor) -> torch.Tensor:
        angle = torch.arange(5.0)[:, None] * 10000.0 ** (-torch.arange(0, 8, 2) / 8)
        turned = torch.view_as_complex(t.unflatten(-1, (4, 2)).contiguous()) * torch.polar(torch.ones(5, 4), angle)
        return torch.view_as_real(turned).flatten(-2)

    halves = rotate(q, 0) @ rotate(k, 0).transpose(-2, -1)
    assert torch.allclose(neighbours(q[..., order]) @ neighbours(k[..., order]).transpose(-2, -1), halves, atol=1e-5)
    assert not torch.allclose(neighbours(q) @ neighbours(k).transpose(-2, -1), halves, atol=1e-2)


def test_the_slowest_pair_comes_round_where_the_answer_says() -> None:
    says("rope", "54,000", "2.6 million", "500000")
    assert 2 * math.pi * 10000 ** (126 / 128) == pytest.approx(54_000, rel=0.01)
    assert 2 * math.pi * 500_000 ** (126 / 128) == pytest.approx(2_600_000, rel=0.02)


def test_bfloat16_cannot_hold_positions() -> None:
    assert torch.tensor(257.0, dtype=torch.bfloat16) == 256


# sliding_window, online_softmax --------------------------------------------------------------------------------------


def test_how_far_layers_reach() -> None:
    says("sliding_window", "131,040", "8 times", "23 %")
    assert 32 * (4096 - 1) == 131_040
    assert 32_768 // 4096 == 8
    band = torch.ones(12, 12, dtype=torch.float64).tril().triu(-2)  # a window of 3
    reached = torch.linalg.matrix_power(band, 4)[11].nonzero().flatten()
    assert 11 - int(reached.min()) == 4 * (3 - 1)
    L, window = 32_768, 4096
    left = (window * L - window * (window - 1) // 2) / (L * (L + 1) // 2)
    assert round(100 * left) == 23


def test_memory_of_a_block_of_scores() -> None:
    says("online_softmax", "4 GiB", "64 MiB")
    assert 2 * costs.score_count(B=1, n_heads=32, Lq=8192, Lk=8192) == 4 * GIB
    assert 2 * costs.score_count(B=1, n_heads=32, Lq=8192, Lk=128) == 64 * MIB


def test_where_the_running_maximum_must_start() -> None:
    assert math.exp(-1000) == 0
    assert math.exp(-math.inf) == 0
    assert math.isnan(-math.inf - -math.inf)


# mla -----------------------------------------------------------------------------------------------------------------


def test_the_cache_of_deepseek_v2() -> None:
    says("mla", "512 + 64 = 576", "32,768", "57 times", "2.25 kv heads", "576 products instead of 192")
    assert 512 + 64 == 576
    assert 2 * 128 * 128 == 32_768
    assert round(32_768 / 576) == 57
    assert 576 / (2 * 128) == 2.25
    assert 128 + 64 == 192


def test_the_keys_need_not_be_made_again() -> None:
    q, w_k, latent = randn(5, 8), randn(8, 6), randn(7, 6)
    assert torch.allclose(q @ (latent @ w_k.T).T, (q @ w_k) @ latent.T)
