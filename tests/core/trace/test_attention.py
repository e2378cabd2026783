"""The axes of the project's own attention, of every kind, as the pages walk it."""

import pytest
import torch

from core.attention import GroupedQueryAttention, KVCache, RoPE
from core.trace import record

B, L, LK, H, D_MODEL = 2, 5, 7, 4, 16
X = torch.zeros(B, L, D_MODEL)

WANTED = {
    "q": "B H L d_h",
    "scores": "B H L Lk",
    "attn": "B H L Lk",
    "causal": "L Lk",
    "cos": "L d_h",
    "sin": "L d_h",
}


def trace_of(kv, *args, axes=None, causal=False, rope=False, **kwargs):
    module = GroupedQueryAttention(D_MODEL, H, kv, causal=causal, rope=RoPE(D_MODEL // H) if rope else None).eval()
    return record(
        module, *args, axes={"x": "B L d_model", **(axes or {})}, sizes={"H": H, "H_kv": kv}, **kwargs
    )  # fmt: skip


def check(trace, kv, keys="L", rotated="L"):
    assert trace.error is None
    assert trace._shared.inference.not_understood == []
    kv_heads = "H" if kv == H else "H_kv"
    for step in trace:
        for out in step.outputs:
            axes = " ".join(map(str, out.axes))
            assert "unknown" not in axes, (step.source.text, axes)
            assert "mixed" not in axes, (step.source.text, axes)
            if step.name in ("k", "v"):
                allowed = {f"B {h} {n} d_h" for h in (kv_heads, "H") for n in (keys, rotated)}
                assert axes in allowed, (step.source.text, axes)
            elif step.name in WANTED:
                assert axes == WANTED[step.name], (step.source.text, axes)
    last = trace[-1].outputs[0]
    assert [str(a) for a in last.axes] == ["B", "L", "d_model"]


@pytest.mark.parametrize("kv", [4, 2, 1])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_self_attention(kv, need_weights, causal):
    check(trace_of(kv, X, need_weights=need_weights, causal=causal), kv)


@pytest.mark.parametrize("kv", [4, 2, 1])
def test_rope(kv):
    check(trace_of(kv, X, need_weights=True, rope=True), kv)


@pytest.mark.parametrize("kv", [4, 2, 1])
@pytest.mark.parametrize("lk", [LK, L])
def test_cross_attention_with_a_padding_mask(kv, lk):
    context, mask = torch.zeros(B, lk, D_MODEL), torch.ones(B, 1, 1, lk, dtype=torch.bool)
    axes = {"context": "B Lk d_model", "mask": "B 1 1 Lk"}
    check(trace_of(kv, X, mask, context=context, need_weights=True, axes=axes), kv, keys="Lk")


@pytest.mark.parametrize("kv", [4, 2, 1])
@pytest.mark.parametrize("new", [1, 3])
@pytest.mark.parametrize("rope", [True, False])
def test_decoding_with_a_cache(kv, new, rope):
    module = GroupedQueryAttention(D_MODEL, H, kv, causal=True, rope=RoPE(D_MODEL // H) if rope else None).eval()
    cache = KVCache()
    module(X, cache=cache)
    heads = "H" if kv == H else "H_kv"
    trace = record(
        module,
        torch.zeros(B, new, D_MODEL),
        cache=cache,
        need_weights=True,
        axes={"x": "B L d_model", "cache.k": f"B {heads} Lk d_h", "cache.v": f"B {heads} Lk d_h"},
        sizes={"H": H, "H_kv": kv},
    )
    check(trace, kv, keys="Lk", rotated="L")
