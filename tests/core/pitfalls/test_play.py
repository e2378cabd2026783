"""What the runs rest on: references that agree, dropout that can be compared, caches that are watched."""

import pytest
import torch
import torch.nn.functional as F

from core import pitfalls
from core.pitfalls import Case, Change
from core.pitfalls._cases import build, draw_weights, inputs
from core.pitfalls._dropout import SameDropout

CASES = [Case(mask=mask) for mask in ("none", "causal", "padding", "joint", "random", "empty-row")]


def made(name: str, case: Case) -> torch.nn.Module:
    module = build(pitfalls.unchanged(name), case).made
    draw_weights(module, module)
    return module


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mask)
def test_the_fused_gqa_is_the_plain_one(case: Case) -> None:
    plain, fused = made("gqa", case), made("gqa_fused", case)
    with torch.no_grad():
        for part in ("weight", "bias"):
            layers = [getattr(layer, part) for layer in (plain.w_q, plain.w_k, plain.w_v)]
            getattr(fused.w_qkv, part).copy_(torch.cat(layers))
            getattr(fused.w_o, part).copy_(getattr(plain.w_o, part))
        given = inputs(pitfalls.reference("gqa"), case).given
        torch.testing.assert_close(fused(**given), plain(**given))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mask)
def test_without_training_the_one_with_dropout_is_plain_mha(case: Case) -> None:
    given = inputs(pitfalls.reference("mha"), case).given
    with torch.no_grad():
        right = made("mha", case)(**given)
        assert torch.equal(made("mha_dropout", case)(**given), right)
        trained = made("mha_dropout", case.model_copy(update={"training": True}))(**given)
    assert not torch.allclose(trained, right)


def test_dropout_loses_the_same_places_and_leaves_torch_alone() -> None:
    ones = torch.ones(1000)
    state = torch.get_rng_state()
    found = []
    for seed in (0, 0, 1):
        with SameDropout(seed):
            found.append(torch.nn.Dropout(0.3)(ones))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert set(found[0].tolist()) == {0.0, torch.tensor(1 / 0.7).item()}
    assert 0.2 < (found[0] == 0).double().mean() < 0.4
    with SameDropout(0):
        assert torch.equal(F.dropout(ones, 0.3, training=False), ones)
        assert F.dropout(torch.full((1000,), float("-inf")), 0.3).isnan().any()  # as without it
        twice = [F.dropout(ones, 0.3) for _ in range(2)]
    assert not torch.equal(*twice)


def test_a_cache_that_was_handed_out_is_watched() -> None:
    """One that is written into later, where all outputs are still right."""
    change = Change(
        right="        return self.w_o(out), cache",
        wrong="        if L == 1:\n            cache[0].zero_()\n        return self.w_o(out), cache",
    )
    view = Change(right="cache = (k, v)  #", wrong="cache = (k, v) if L > 1 else cache  #")
    outcome = pitfalls.compare(pitfalls.change("kv_cache", [change, view]))
    assert outcome.shows == "writes"
    assert outcome.written == ("cache 1",)
    assert pitfalls.compare(pitfalls.unchanged("kv_cache")).written == ()
