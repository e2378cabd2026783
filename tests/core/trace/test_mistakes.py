"""Wrong code looks wrong: what its axes say, and the facts that surprise, each shown by a run."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from core.trace import record

GENERIC = {"B": 2, "L": 5, "H": 4, "d_h": 3}


def linear(n_in, n_out):
    return nn.Linear(n_in, n_out)


def axes(function, H_kv=None, **sizes):
    """The axes of each step of function(x, sizes…) after the projections, as strings."""
    s = {**GENERIC, **sizes}
    B, L, H, d = s["B"], s["L"], s["H"], s["d_h"]
    given = {"H": H, "d_h": d} | ({"H_kv": H_kv} if H_kv else {})
    weights = {n: linear(H * d, H * d) for n in "qkvo"}
    if H_kv:
        weights |= {n: linear(H * d, H_kv * d) for n in "kv"}
    trace = record(
        lambda x: function(x, weights, B, L, H, d), torch.randn(B, L, H * d), axes=["B L d_model"], sizes=given
    )
    assert trace.error is None, trace.error
    assert trace._shared.inference.not_understood == []
    return [" ".join(map(str, out.axes)) for step in trace for out in step.outputs[:1]]


def split_view_direct(x, w, B, L, H, d):
    return w["q"](x).view(B, H, L, d)


def test_view_without_transpose_mixes_tokens_and_heads():
    assert axes(split_view_direct)[-1] == "B L·H mixed L·H mixed d_h"
    # At H = L the very same call cuts cleanly: into tokens first, heads second.
    assert axes(split_view_direct, L=4)[-1] == "B L H d_h"
    # One token only: the mistake makes no difference.
    assert axes(split_view_direct, L=1)[-1] == "B H L d_h"


def test_the_mixture_stays_until_the_end():
    def attend(x, w, B, L, H, d):
        q, k, v = (w[n](x).view(B, H, L, d) for n in "qkv")
        out = (q @ k.mT).softmax(-1) @ v
        return w["o"](out.transpose(1, 2).reshape(B, L, H * d))

    steps = axes(attend)
    assert "B L·H mixed L·H mixed Lk·H′ mixed" in steps
    assert steps[-1] == "B L·H mixed d_model"


def test_wrong_order_of_factors():
    def swapped(x, w, B, L, H, d):
        return w["q"](x).view(B, L, d, H)

    assert axes(swapped)[-1] == "B L H·d_h mixed H·d_h mixed"
    assert axes(swapped, d_h=2)[-1] == "B L H mixed H·d_h mixed"
    assert axes(swapped, d_h=8)[-1] == "B L H·d_h mixed d_h mixed"
    assert axes(swapped, d_h=4)[-1] == "B L H d_h"  # nothing was swapped: it is the same call


def test_splitting_the_input_itself():
    def raw(x, w, B, L, H, d):
        return x.view(B, L, H, d)

    assert axes(raw)[-1] == "B L d_model mixed d_model mixed"


def test_no_transpose_lets_heads_attend_to_heads():
    def attend(x, w, B, L, H, d):
        q, k, v = (w[n](x).view(B, L, H, d) for n in "qkv")
        return (q @ k.mT).softmax(-1) @ v

    for sizes in ({}, {"L": 4}, {"B": 1}, {"d_h": 4, "L": 4, "B": 4}):
        assert axes(attend, **sizes)[-3:] == ["B L H H′", "B L H H′", "B L H d_h"]


def test_merging_without_the_transpose():
    def merge(x, w, B, L, H, d):
        v = w["v"](x).view(B, L, H, d).transpose(1, 2)
        return v.reshape(B, L, H * d)

    assert axes(merge)[-1] == "B H·L mixed H·L·d_h mixed"
    assert axes(merge, L=4)[-1] == "B H L·d_h"  # the tokens' axis holds heads


def test_merging_in_the_wrong_order():
    def merge(x, w, B, L, H, d):
        v = w["v"](x).view(B, L, H, d)
        return v.transpose(2, 3).reshape(B, L, H * d)

    for sizes in ({}, {"d_h": 4}, {"L": 4}):
        assert axes(merge, **sizes)[-1] == "B L d_h·H"


def test_folding_heads_into_the_batch_without_moving_them():
    def fold(x, w, B, L, H, d):
        return w["q"](x).view(B * H, L, d)

    assert axes(fold)[-1] == "B·L·H mixed L·H mixed d_h"


def test_repeat_gives_query_heads_the_wrong_group():
    def attend(x, w, B, L, H, d, repeat):
        q = w["q"](x).view(B, L, H, d).transpose(1, 2)
        k = repeat(w["k"](x).view(B, L, -1, d).transpose(1, 2), H // 2)
        return q @ k.mT

    def wrong(x, w, B, L, H, d):
        return attend(x, w, B, L, H, d, lambda k, g: k.repeat(1, g, 1, 1))

    def right(x, w, B, L, H, d):
        return attend(x, w, B, L, H, d, lambda k, g: k.repeat_interleave(g, dim=1))

    for sizes in ({}, {"L": 4}, {"B": 1}, {"B": 2, "L": 2, "d_h": 2}):  # H_kv = G = 2 throughout
        assert axes(wrong, H_kv=2, **sizes)[-3:] == ["B G·H_kv L d_h", "B G·H_kv d_h L", "B H mixed L Lk"]
        assert axes(right, H_kv=2, **sizes)[-3:] == ["B H L d_h", "B H d_h L", "B H L Lk"]


def test_fused_attention_shows_the_wrong_group_too():
    def wrong(x, w, B, L, H, d):
        q, k, v = (w[n](x).view(B, L, -1, d).transpose(1, 2) for n in "qkv")
        return F.scaled_dot_product_attention(q, k.repeat(1, H // 2, 1, 1), v.repeat(1, H // 2, 1, 1))

    assert axes(wrong, H_kv=2)[-1] == "B H mixed L d_h"


def test_a_transposed_mask_contradicts_the_scores():
    def attend(x, mask):
        return (x @ x.mT).masked_fill(mask, 0.0)

    mask = torch.zeros(5, 5, dtype=torch.bool)
    for given, meant in (("L Lk", "B L Lk"), ("Lk L", "B L·Lk mixed Lk·L mixed")):
        trace = record(attend, torch.zeros(2, 5, 3), mask, axes={"x": "B L d_h", "mask": given})
        assert " ".join(map(str, trace[-1].outputs[0].axes)) == meant


def test_softmax_over_the_queries_keeps_their_names_apart():
    def attend(x, w, B, L, H, d):
        q, k, v = (w[n](x).view(B, L, H, d).transpose(1, 2) for n in "qkv")
        return torch.softmax(q @ k.mT, dim=-2) @ v

    assert axes(attend)[-2:] == ["B H L Lk", "B H L d_h"]


def test_new_keys_on_the_wrong_axis_of_a_cache():
    def grow(past, new):
        return torch.cat([past, new], dim=1)

    given = {"past": "B H Lk d_h", "new": "B H L d_h"}
    trace = record(grow, torch.zeros(2, 4, 3, 5), torch.zeros(2, 4, 3, 5), axes=given)
    assert str(trace[-1].outputs[0].axes[1]) != "H"


def test_nothing_is_named_that_was_not_declared():
    trace = record(lambda x: (x.view(2, 3, 4) @ x.view(2, 4, 3)).softmax(-1), torch.zeros(2, 12))
    assert {str(axis) for step in trace for out in step.outputs for axis in out.axes} <= {
        "unknown", "unknown mixed",
    }  # fmt: skip


# Facts that surprise -------------------------------------------------------------------------------------------


def looks(state):
    return state.shape, state.stride, state.is_contiguous


def test_the_wrong_split_looks_like_the_right_one_but_for_its_elements():
    x = torch.arange(2 * 5 * 12.0).view(2, 5, 12)
    right = record(lambda t: t.view(2, 5, 4, 3).transpose(1, 2).contiguous(), x, axes=["B L H·d_h"], sizes={"H": 4})
    wrong = record(lambda t: t.view(2, 4, 5, 3), x, axes=["B L H·d_h"], sizes={"H": 4})
    assert looks(right[-1].outputs[0]) == looks(wrong[-1].outputs[0])
    assert not torch.equal(right.result, wrong.result)
    assert [str(a) for a in right[-1].outputs[0].axes] == ["B", "H", "L", "d_h"]
    assert [str(a) for a in wrong[-1].outputs[0].axes] == ["B", "L·H mixed", "L·H mixed", "d_h"]


def test_repeat_looks_like_repeat_interleave_but_for_its_elements():
    k = torch.arange(2 * 2 * 5 * 3.0).view(2, 2, 5, 3)
    given: dict[str, Any] = {"axes": ["B H_kv L d_h"], "sizes": {"H": 4, "H_kv": 2}}
    right = record(lambda t: t.repeat_interleave(2, dim=1), k, **given)
    wrong = record(lambda t: t.repeat(1, 2, 1, 1), k, **given)
    assert looks(right[-1].outputs[0]) == looks(wrong[-1].outputs[0])
    assert not torch.equal(right.result, wrong.result)
    assert (str(right[-1].outputs[0].axes[1]), str(wrong[-1].outputs[0].axes[1])) == ("H", "G·H_kv")
    assert right[-1].outputs[0].coordinates("H_kv")[0, :, 0, 0].tolist() == [0, 0, 1, 1]
    assert wrong[-1].outputs[0].coordinates("H_kv")[0, :, 0, 0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(("L", "raises"), [(5, True), (1, False)])
def test_at_one_token_the_missing_contiguous_hides(L, raises):
    def merge(x):
        return x.transpose(1, 2).view(2, L, 12)  # (B, H, L, d_h) -> (B, L, d_model)

    assert (record(merge, torch.zeros(2, 4, L, 3)).error is not None) == raises


def test_the_transposed_key_of_mqa_is_contiguous_already():
    def split(x, heads):
        return x.view(2, 5, heads, 3).transpose(1, 2)

    one = record(split, torch.zeros(2, 5, 3), 1)[-1].outputs[0]
    many = record(split, torch.zeros(2, 5, 12), 4)[-1].outputs[0]
    assert (one.is_contiguous, many.is_contiguous) == (True, False)


def test_folding_a_projection_is_a_hidden_copy():
    """`reshape` after a transpose copies without saying so; `view` in its place would raise."""
    steps = record(lambda x: x.view(2, 5, 4, 3).transpose(1, 2).reshape(8, 5, 3), torch.zeros(2, 5, 12)).steps
    assert [s.kind for s in steps] == ["view", "view", "copy"]
