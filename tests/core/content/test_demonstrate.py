"""Each pitfall does what its text says: what is declared, and the side remarks too."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from core import content
from core.errors import LANGS, BadInput

PITFALLS = {pitfall.id: pitfall for pitfall in content.load_question().pitfalls}
each_pitfall = pytest.mark.parametrize("pitfall", PITFALLS.values(), ids=PITFALLS)


def change(pitfall_id: str) -> tuple[str, str]:
    return PITFALLS[pitfall_id].right, PITFALLS[pitfall_id].wrong


def module_with(*changes: tuple[str, str]) -> Any:
    """The class of the standard answer with changes, each (what stands there once, what takes its place)."""
    source = content.standard_answer_source()
    for right, wrong in changes:
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    namespace: dict[str, Any] = {"__name__": "changed"}
    exec(source, namespace)
    return namespace["MultiHeadAttention"]


def twins(*changes: tuple[str, str], n_heads: int = 4) -> tuple[Any, Any]:
    """The standard answer and a changed one with d_model 32, float64, with the same weights."""
    right, wrong = module_with()(32, n_heads).double(), module_with(*changes)(32, n_heads).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in right.parameters():
            parameter.normal_(0, 0.2, generator=generator)
    wrong.load_state_dict(right.state_dict())
    return right, wrong


def seen_by(module: Any, position: int, mask: torch.Tensor | None = None) -> set[int]:
    """The tokens whose change changes what the module gives at `position`; x is (1, 6, 32)."""
    x = random(1, 6, 32)
    before = module(x, mask)[0, position]
    seen = set()
    for token in range(6):
        other = x.clone()
        other[0, token] += 1
        if not torch.allclose(module(other, mask)[0, position], before, rtol=0, atol=1e-9):
            seen.add(token)
    return seen


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def causal(L: int) -> torch.Tensor:
    return torch.ones(L, L, dtype=torch.bool).tril()


@each_pitfall
def test_the_change_fits_the_answer_in_one_place(pitfall):
    assert content.standard_answer_source().count(pitfall.right) == 1
    assert "\n" not in pitfall.right + pitfall.wrong


@each_pitfall
def test_the_effect_is_as_declared(pitfall):
    plain, with_mask = content.demonstrate(pitfall.id).runs
    assert (plain.mask, with_mask.mask) == ("plain", "causal")
    assert (plain.effect, with_mask.effect) == (pitfall.effect.plain, pitfall.effect.causal)


@each_pitfall
def test_what_an_outcome_says_agrees_with_itself(pitfall):
    outcome = content.demonstrate(pitfall.id)
    assert outcome.source.splitlines()[outcome.line - 1].strip() == outcome.wrong_line
    assert outcome.wrong_line != outcome.right_line
    changed = outcome.source.splitlines()
    original = content.standard_answer_source().splitlines()
    assert [n for n, (a, b) in enumerate(zip(changed, original, strict=True), start=1) if a != b] == [outcome.line]
    sizes = content.SIZES
    for run in outcome.runs:
        if run.effect == "error":
            assert run.error
            assert run.shape is run.difference is run.nan_share is None
            continue
        assert run.shape == (sizes["B"], sizes["L"], sizes["H"] * sizes["d_h"])
        assert run.nan_share is not None
        assert run.largest is not None
        assert (run.effect == "nan") == (run.nan_share > 0)
        assert (run.effect == "same") == (run.difference == 0)
        assert run.largest > 0


def test_the_standard_answer_itself_shows_no_effect(monkeypatch):
    """The measure can say `same`: a change that changes nothing."""
    harmless = PITFALLS["merge-view-noncontiguous"].model_copy(update={"wrong": ".transpose(1, 2).reshape("})
    question = content.load_question().model_copy(update={"pitfalls": (harmless,)})
    monkeypatch.setattr("core.content._demonstrate.load_question", lambda: question)
    runs = content.demonstrate("merge-view-noncontiguous").runs
    assert [run.effect for run in runs] == ["same", "same"]


def test_the_error_is_the_one_that_torch_raises():
    plain, _ = content.demonstrate("merge-view-noncontiguous").runs
    assert str(plain.error).startswith("RuntimeError: view size is not compatible with input tensor's size and stride")
    _, with_mask = content.demonstrate("split-no-transpose").runs
    assert str(with_mask.error).startswith("RuntimeError: The size of tensor a (6) must match the size of tensor b (4)")


def test_an_outcome_is_the_same_each_time_and_in_every_thread():
    ids = [*PITFALLS] * 3
    alone = {pitfall_id: content.demonstrate(pitfall_id) for pitfall_id in PITFALLS}
    torch.rand(1)  # other numbers drawn in between
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(content.demonstrate, ids))
    assert together == [alone[pitfall_id] for pitfall_id in ids]


def test_a_demonstration_leaves_gradients_on():
    content.demonstrate("scale-missing")
    assert torch.is_grad_enabled()


def test_an_unknown_pitfall_is_explained():
    with pytest.raises(BadInput) as caught:
        content.demonstrate("no-such-pitfall")
    for lang in LANGS:
        parts = caught.value.parts(lang)
        assert "no-such-pitfall" in parts.given
        assert "split-no-transpose" in parts.expected


class TestSideRemarks:
    """Remarks in `happens` and `repair` that the declared effect does not cover."""

    def test_without_the_transpose_no_query_meets_the_key_of_another_token(self):
        before_merge = ("out = attn @ v", "return attn @ v")
        right, wrong = twins(before_merge, change("split-no-transpose"))
        assert [seen_by(wrong, position) for position in range(6)] == [{position} for position in range(6)]
        assert seen_by(right, 0) == set(range(6))

    def test_without_the_transpose_the_weights_do_not_end_in_the_length_twice(self):
        weights = ("out = attn @ v", "return attn")
        _, right = twins(weights)
        _, wrong = twins(weights, change("split-no-transpose"))
        assert right(random(2, 6, 32)).shape == (2, 4, 6, 6)
        assert wrong(random(2, 6, 32)).shape == (2, 6, 4, 4)

    def test_without_the_transpose_a_mask_does_not_raise_where_length_and_heads_are_equal(self):
        right, wrong = twins(change("split-no-transpose"))
        x = random(2, 4, 32)
        assert wrong(x, causal(4)).shape == x.shape
        assert not torch.allclose(wrong(x, causal(4)), right(x, causal(4)))

    def test_a_direct_reshape_leaks_the_future(self):
        right, wrong = twins(change("split-view-direct"))
        assert max(seen_by(wrong, 0, causal(6))) > 0
        assert seen_by(right, 0, causal(6)) == {0}

    def test_scaling_by_d_model_shrinks_the_scores_by_the_root_of_the_heads_and_flattens_the_weights(self):
        both = ("out = attn @ v", "return scores, attn")
        _, right = twins(both)
        _, wrong = twins(both, change("scale-by-d-model"))
        (scores, attn), (small_scores, flat_attn) = right(random(1, 6, 32)), wrong(random(1, 6, 32))
        torch.testing.assert_close(scores, small_scores * 4**0.5)
        assert (flat_attn.amax(-1) < attn.amax(-1)).all()

    def test_without_a_scale_the_weights_come_close_to_one_key_and_the_gradient_vanishes(self):
        d_h = 4096
        q, k = random(200 + 8, d_h).split([200, 8])

        def largest_weight_and_its_gradient(scale: float) -> tuple[float, float]:
            scores = (q @ k.T * scale).requires_grad_()
            largest = scores.softmax(-1).amax(-1)
            (gradient,) = torch.autograd.grad(largest.sum(), scores)
            return largest.mean().item(), gradient.abs().amax(-1).mean().item()

        raw_weight, raw_gradient = largest_weight_and_its_gradient(1.0)
        weight, gradient = largest_weight_and_its_gradient(d_h**-0.5)
        assert raw_weight > 0.95
        assert weight < 0.6
        assert raw_gradient < gradient / 5

    def test_torch_scales_by_itself(self):
        q, k, v = random(3, 1, 4, 6, 8)
        ours = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1) @ v
        torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v), ours)

    def test_softmax_over_queries_makes_columns_sum_to_1_instead_of_rows(self):
        weights = ("out = attn @ v", "return attn")
        _, right = twins(weights)
        _, wrong = twins(weights, change("softmax-over-queries"))
        right_attn, wrong_attn = right(random(1, 6, 32)), wrong(random(1, 6, 32))
        ones = torch.ones(1, 4, 6, dtype=torch.float64)
        torch.testing.assert_close(right_attn.sum(-1), ones)
        torch.testing.assert_close(wrong_attn.sum(-2), ones)
        assert wrong_attn.sum(-1).max() > 1.1
        assert wrong_attn.sum(-1).min() < 0.9

    def test_an_inverted_causal_mask_looks_into_the_future(self):
        _, wrong = twins(change("mask-inverted"))
        assert seen_by(wrong, 2, causal(6)) == {2, 3, 4, 5}  # 2 by its own query
        assert wrong(random(1, 6, 32), causal(6))[0, -1].isnan().all()

    def test_the_two_polarities_of_torch(self):
        q, k, v = random(3, 1, 1, 6, 8)
        ours = (q @ k.transpose(-2, -1) / 8**0.5).masked_fill(~causal(6), float("-inf")).softmax(-1) @ v
        torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=causal(6)), ours)
        module = torch.nn.MultiheadAttention(8, 1, batch_first=True).double()
        x = random(1, 6, 8)
        _, weights = module(x, x, x, attn_mask=~causal(6))
        assert (weights[0][~causal(6)] == 0).all()

    def test_minus_1e9_does_not_fit_half_precision(self):
        with pytest.raises(RuntimeError, match="overflow"):
            torch.zeros(2, dtype=torch.float16).masked_fill(torch.tensor([True, False]), -1e9)

    @pytest.mark.parametrize(("n_heads", "L"), [(1, 6), (4, 1)])
    def test_a_view_without_contiguous_passes_with_one_head_or_one_token(self, n_heads, L):
        right, wrong = twins(change("merge-view-noncontiguous"), n_heads=n_heads)
        x = random(2, L, 32)
        torch.testing.assert_close(wrong(x), right(x))

    def test_reshape_repairs_the_merge(self):
        right, repaired = twins((PITFALLS["merge-view-noncontiguous"].right, ".transpose(1, 2).reshape("))
        x = random(2, 6, 32)
        torch.testing.assert_close(repaired(x), right(x))

    def test_a_row_after_a_reshape_merge_holds_one_head_at_several_positions(self):
        H, L, d_h = 4, 8, 2
        head = torch.arange(H).view(1, H, 1, 1).expand(1, H, L, d_h)
        position = torch.arange(L).view(1, 1, L, 1).expand(1, H, L, d_h)
        for row in range(L):
            assert len(head.reshape(1, L, H * d_h)[0, row].unique()) == 1
            assert len(position.reshape(1, L, H * d_h)[0, row].unique()) > 1

    def test_without_w_o_a_feature_comes_from_one_head_alone(self):
        right, wrong = twins(change("output-projection-missing"))
        x = random(1, 6, 32)
        moved = []
        for module in (right, wrong):
            before = module(x)
            with torch.no_grad():
                module.w_qkv.weight[64:72] += 1  # the values of head 0
            moved.append(((module(x) - before).abs().amax((0, 1)) > 1e-9).tolist())
        assert moved == [[True] * 32, [True] * 8 + [False] * 24]
