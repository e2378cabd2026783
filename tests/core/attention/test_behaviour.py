"""What core.attention promises beside its numbers: gradients, dropout, empty rows, RoPE, dtypes."""

import math

import pytest
import torch

from core.attention import GroupedQueryAttention, KVCache, MultiHeadAttention, RoPE, causal_mask


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_with_nothing_to_attend_to_gives_zeros_and_no_nan_in_the_gradients(
    need_weights: bool,
) -> None:
    module = MultiHeadAttention(12, 3)
    x = random(2, 4, 12).requires_grad_()
    mask = torch.ones(2, 1, 4, 4, dtype=torch.bool)
    mask[0, :, 1] = False
    out = module(x, mask, need_weights=need_weights)
    if need_weights:
        out, attn = out
        assert torch.equal(attn[0, :, 1], torch.zeros(3, 4))
        torch.testing.assert_close(attn[1].sum(-1), torch.ones(3, 4))
    torch.testing.assert_close(out[0, 1], module.w_o.bias)
    out.sum().backward()
    assert x.grad is not None
    for tensor in (x.grad, *(p.grad for p in module.parameters())):
        assert tensor is not None
        assert tensor.isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_gradients_reach_every_parameter(need_weights: bool) -> None:
    module = GroupedQueryAttention(24, 6, 2, causal=True)
    out = module(random(2, 5, 24), need_weights=need_weights)
    (out[0] if need_weights else out).square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        if name == "w_k.bias":  # it adds the same to all scores of a row, which the softmax does not see
            assert parameter.grad.abs().max() < 1e-4
        else:
            assert parameter.grad.abs().max() > 1e-4, name


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_acts_in_training_only(need_weights: bool) -> None:
    def run(module: MultiHeadAttention) -> torch.Tensor:
        out = module(x, need_weights=need_weights)
        return out[0] if need_weights else out

    x = random(2, 5, 24)
    dropping = MultiHeadAttention(24, 6, dropout=0.5)
    plain = MultiHeadAttention(24, 6)
    plain.load_state_dict(dropping.state_dict())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert not torch.allclose(run(dropping), run(dropping))
    torch.testing.assert_close(run(dropping.eval()), run(plain))


def test_weights_are_returned_as_they_are_before_dropout() -> None:
    module = MultiHeadAttention(24, 6, dropout=0.5)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        _, attn = module(random(2, 5, 24), need_weights=True)
    torch.testing.assert_close(attn.sum(-1), torch.ones(2, 6, 5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("need_weights", [False, True])
def test_half_precision_stays_finite_and_near(dtype: torch.dtype, need_weights: bool) -> None:
    module = MultiHeadAttention(24, 6, causal=True, rope=RoPE(4)).eval()
    x = random(2, 5, 24)
    expected = module(x)
    out = module.to(dtype)(x.to(dtype), need_weights=need_weights)
    out = out[0] if need_weights else out
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.02)


def test_a_later_token_does_not_change_an_earlier_output() -> None:
    module = MultiHeadAttention(24, 6, causal=True).eval()
    x = random(1, 5, 24)
    changed = x.clone()
    changed[:, 3] += 1
    before, after = module(x), module(changed)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert (before[:, 3:] - after[:, 3:]).abs().min(dim=-1).values.max() > 1e-4


class TestRoPE:
    def test_turns_each_pair_by_position_times_frequency(self) -> None:
        """Equation 34 of the paper, pair by pair, with complex numbers instead of sines and cosines."""
        x = random(1, 1, 9, 8, dtype=torch.float64)
        for pairing, pairs in (
            ("neighbours", [(2 * i, 2 * i + 1) for i in range(4)]),
            ("halves", [(i, i + 4) for i in range(4)]),
        ):
            out = RoPE(8, base=500.0, pairing=pairing)(x, start=3)
            for position in range(9):
                for i, (a, b) in enumerate(pairs):
                    z = complex(x[0, 0, position, a], x[0, 0, position, b])
                    turned = z * math.e ** (1j * (position + 3) * 500.0 ** (-2 * i / 8))
                    assert out[0, 0, position, a].item() == pytest.approx(turned.real, abs=1e-12)
                    assert out[0, 0, position, b].item() == pytest.approx(turned.imag, abs=1e-12)

    @pytest.mark.parametrize("pairing", ["halves", "neighbours"])
    def test_scores_depend_on_the_distance_alone(self, pairing: str) -> None:
        rope = RoPE(8, pairing=pairing)
        q, k = random(1, 1, 1, 8, dtype=torch.float64), random(1, 1, 1, 8, seed=1, dtype=torch.float64)

        def score(i: int, j: int) -> float:
            return (rope(q, i) * rope(k, j)).sum().item()

        assert score(5, 2) == pytest.approx(score(105, 102), abs=1e-12)
        assert score(5, 2) != pytest.approx(score(5, 3), abs=1e-6)

    def test_pairings_differ_and_one_is_the_other_with_features_reordered(self) -> None:
        x = random(1, 2, 5, 8, dtype=torch.float64)
        interleave = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])  # halves' pairs laid side by side
        halves, neighbours = RoPE(8, pairing="halves"), RoPE(8, pairing="neighbours")
        assert (halves(x) - neighbours(x)).abs().max() > 1e-3
        torch.testing.assert_close(neighbours(x[..., interleave]), halves(x)[..., interleave], rtol=0, atol=1e-14)

    def test_leaves_no_trace_in_the_state_dict(self) -> None:
        assert not [key for key in MultiHeadAttention(24, 6, rope=RoPE(4)).state_dict() if "rope" in key]


def test_cached_tensors_handed_out_keep_their_values() -> None:
    cache = KVCache()
    first, _ = cache.append(random(1, 2, 3, 4), random(1, 2, 3, 4))
    before = first.clone()
    cache.append(random(1, 2, 1, 4, seed=1), random(1, 2, 1, 4, seed=1))
    assert len(cache) == 4
    assert torch.equal(first, before)


def test_causal_mask_of_later_queries_starts_where_the_cache_ends() -> None:
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
