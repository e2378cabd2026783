"""Bad input is refused in three parts, in both languages, before anything is computed."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

import core.attention
from core.attention import GroupedQueryAttention, KVCache, MultiHeadAttention, RoPE
from core.errors import LANGS, BadInput


def with_cache_of(batch: int, n_kv_heads: int, dtype: torch.dtype = torch.float32) -> KVCache:
    cache = KVCache()
    cache.append(torch.zeros(batch, n_kv_heads, 3, 4, dtype=dtype), torch.zeros(batch, n_kv_heads, 3, 4, dtype=dtype))
    return cache


x = torch.zeros(2, 5, 24)
mha = MultiHeadAttention(24, 6)
causal = GroupedQueryAttention(24, 6, 2, causal=True, rope=RoPE(4, max_len=8))

CASES: dict[str, tuple[Callable[[], object], str]] = {
    "d_model not divisible": (lambda: MultiHeadAttention(10, 4), "d_model = 10 and n_heads = 4"),
    "H not a multiple of H_kv": (lambda: GroupedQueryAttention(24, 6, 4), "n_heads = 6 and n_kv_heads = 4"),
    "more kv heads than heads": (lambda: GroupedQueryAttention(24, 6, 12), "n_kv_heads = 12"),
    "no heads": (lambda: MultiHeadAttention(24, 0), "n_heads = 0"),
    "half a head": (lambda: MultiHeadAttention(24, 1.5), "n_heads = 1.5"),
    "dropout of one": (lambda: MultiHeadAttention(24, 6, dropout=1.0), "dropout = 1.0"),
    "rank two": (lambda: mha(x[0]), "x of shape (5, 24)"),
    "other features": (lambda: mha(x[..., :20]), "x of shape (2, 5, 20)"),
    "context of rank two": (lambda: mha(x, context=x[0]), "context of shape (5, 24)"),
    "context of another batch": (lambda: mha(x, context=x[:1]), "context with batch 1"),
    "context and causal": (lambda: causal(x, context=x), "context= together with causal"),
    "context and cache": (lambda: mha(x, context=x, cache=KVCache()), "context= together with cache"),
    "mask of another length": (lambda: mha(x, torch.ones(5, 4)), "a mask of shape (5, 4)"),
    "mask (B, L, Lk)": (lambda: mha(x, torch.ones(2, 5, 5)), "a mask of shape (2, 5, 5)"),
    "mask of rank five": (lambda: mha(x, torch.ones(1, 1, 1, 5, 5)), "a mask of shape (1, 1, 1, 5, 5)"),
    "additive mask": (
        lambda: mha(x, torch.zeros(5, 5).fill_(-torch.inf).triu(1)),
        "values other than 0 and 1",
    ),
    "cache of another batch": (lambda: causal(x, cache=with_cache_of(1, 2)), "a cache of shape (1, 2, 3, 4)"),
    "cache of expanded heads": (
        lambda: causal(x, cache=with_cache_of(2, 6)),
        "a cache of shape (2, 6, 3, 4)",
    ),
    "cache of another dtype": (lambda: causal(x, cache=with_cache_of(2, 2, torch.float64)), "torch.float64"),
    "rope for odd heads": (lambda: RoPE(5), "d_h = 5"),
    "rope of no known pairing": (lambda: RoPE(4, pairing="pairs"), "pairing = 'pairs'"),
    "rope of another size": (lambda: MultiHeadAttention(24, 6, rope=RoPE(8)), "d_h = 8"),
    "past rope's last position": (lambda: causal(torch.zeros(1, 9, 24)), "positions up to 8"),
}


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_is_refused_in_three_parts(case: str, need_weights: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    call, given = CASES[case]
    if need_weights:  # the explicit path checks as the fused one does
        forward = GroupedQueryAttention.forward
        monkeypatch.setattr(
            GroupedQueryAttention, "forward", lambda self, *a, **k: forward(self, *a, **k, need_weights=True)
        )
    with pytest.raises(BadInput) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert given in caught.value.parts("en").given
    for lang in LANGS:
        parts = caught.value.parts(lang)
        assert all(parts)
        assert "{" not in "".join(parts)
        assert any("一" <= c <= "鿿" for c in "".join(parts)) == (lang == "zh")
    assert all(part in str(caught.value) for part in caught.value.parts("en"))


def test_every_message_is_reached_by_a_case() -> None:
    """A message that nothing raises is dead; a case for each keeps both languages tried with real parameters."""
    reached = set()
    for call, _ in CASES.values():
        with pytest.raises(BadInput) as caught:
            call()
        reached.add(caught.value.code.removeprefix("attention."))
    written = yaml.safe_load((Path(core.attention.__file__).parent / "errors.yaml").read_text("utf-8"))
    assert reached == set(written)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mha(x, torch.ones(5, 5)),
        lambda: mha(x, torch.ones(2, 1, 5, 5)),
        lambda: mha(x, context=x[:, :1]),
        lambda: causal(x[:, :5], cache=with_cache_of(2, 2)),  # positions 3 to 7: the last that max_len = 8 allows
        lambda: GroupedQueryAttention(24, 6, 6),
    ],
)
def test_the_nearest_right_input_passes(call: Callable[[], object]) -> None:
    call()
