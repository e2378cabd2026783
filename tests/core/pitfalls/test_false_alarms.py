"""Right code that looks like a mistake is none: the same comparison that shows the mistake shows nothing here."""

from typing import Any, NamedTuple

import pytest
import torch
import yaml

from core import pitfalls
from core.pitfalls import Case, Change
from core.pitfalls._cases import build, draw_weights, inputs
from tests.core.pitfalls.test_mistakes import CASES

RULE = pitfalls.entry("mask-row-all-false-nan").forms[0].changes[0].right.split("\n", 1)[1]  # within its `if`
FILL = '            scores = scores.masked_fill(mask == 0, float("-inf"))\n'
MASKS = (Case(mask="causal"), Case(mask="random"), Case(mask="padding"))


class Right(NamedTuple):
    """A way to write `reference` that is right, and the mistakes that it could be taken for."""

    reference: str
    changes: tuple[tuple[str, str], ...]
    unlike: tuple[str, ...]
    cases: tuple[Case, ...] = (Case(),)


RIGHTS = {
    "ok-scale-query-first": Right(
        "mha",
        (
            ("q, k, v = split(q), split(k), split(v)", "q, k, v = split(q) / self.d_h**0.5, split(k), split(v)"),
            (" @ k.transpose(-2, -1) / self.d_h**0.5", " @ k.transpose(-2, -1)"),
        ),
        ("scale-missing", "scale-twice"),
    ),
    "scale-shared-by-both": Right(
        "mha",
        (
            (
                "q, k, v = split(q), split(k), split(v)",
                "q, k, v = split(q) * self.d_h**-0.25, split(k) * self.d_h**-0.25, split(v)",
            ),
            (" @ k.transpose(-2, -1) / self.d_h**0.5", " @ k.transpose(-2, -1)"),
        ),
        ("scale-missing", "scale-twice", "scale-wrong-quantity"),
    ),
    "ok-flatten-after-transpose": Right(
        "mha",
        (("out.transpose(1, 2).contiguous().view(B, L, d_model)", "out.transpose(1, 2).flatten(2)"),),
        ("merge-no-transpose", "merge-view-noncontiguous"),
    ),
    "heads-concatenated": Right(
        "mha",
        (
            (
                "out.transpose(1, 2).contiguous().view(B, L, d_model)",
                "torch.cat([out[:, h] for h in range(self.n_heads)], dim=-1)",
            ),
        ),
        ("merge-no-transpose", "merge-mean-heads"),
    ),
    "ok-one-big-linear": Right(
        "mha",
        (
            (
                "q, k, v = split(q), split(k), split(v)",
                "q, k, v = (\n"
                "            torch.stack([nn.functional.linear(x, w, b) for w, b in zip(ws.chunk(self.n_heads), "
                "bs.chunk(self.n_heads))], 1)\n"
                "            for ws, bs in zip(self.w_qkv.weight.chunk(3), self.w_qkv.bias.chunk(3))\n"
                "        )",
            ),
        ),
        ("split-raw-input", "projection-shared", "split-view-direct"),
    ),
    "ok-mask-after-softmax-renormalised": Right(
        "mha",
        (
            ("        if mask is not None:\n" + FILL, ""),
            (RULE, "            attn = attn * mask\n            attn = attn / attn.sum(dim=-1, keepdim=True)\n"),
        ),
        ("mask-after-softmax", "mask-multiplied"),
        MASKS,
    ),
    "mask-added-as-minus-infinity": Right(
        "mha",
        (
            (
                'scores.masked_fill(mask == 0, float("-inf"))',
                'scores + torch.zeros_like(scores).masked_fill(mask == 0, float("-inf"))',
            ),
        ),
        ("mask-added", "mask-zero-times-inf"),
        MASKS,
    ),
    "mask-by-where": Right(
        "mha",
        (('scores.masked_fill(mask == 0, float("-inf"))', 'torch.where(mask != 0, scores, float("-inf"))'),),
        ("mask-inverted", "mask-filled-with-zero"),
        MASKS,
    ),
    "ok-triu-diagonal-one": Right(
        "causal",
        (
            ("allowed = torch.ones(L, L, dtype=torch.bool, device=x.device).tril()",
             "hidden = torch.ones(L, L, dtype=torch.bool, device=x.device).triu(1)"),
            ("~allowed", "hidden"),
        ),
        ("causal-off-by-one", "causal-wrong-triangle"),
    ),
    "ok-repeat-for-mqa": Right(
        "gqa",
        (
            ("k = k.repeat_interleave(G, dim=1)", "k = k.repeat(1, G, 1, 1)"),
            ("v = v.repeat_interleave(G, dim=1)", "v = v.repeat(1, G, 1, 1)"),
        ),
        (),  # with these numbers of kv heads it is right, with others gqa-repeat-order itself
        (Case(sizes={"H_kv": 1}), Case(sizes={"H_kv": 6})),
    ),
    "repeat-on-an-axis-of-its-own": Right(
        "gqa",
        (
            ("k = k.repeat_interleave(G, dim=1)", "k = k.unsqueeze(2).repeat(1, 1, G, 1, 1).flatten(1, 2)"),
            ("v = v.repeat_interleave(G, dim=1)", "v = v.unsqueeze(2).expand(-1, -1, G, -1, -1).flatten(1, 2)"),
        ),
        ("gqa-repeat-order", "gqa-view-after-expand"),
    ),
    "keys-in-the-rows": Right(
        "mha",
        (
            ("q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
            ("scores.softmax(dim=-1)", "scores.softmax(dim=-2)"),
            ("attn @ v", "attn.transpose(-2, -1) @ v"),
        ),
        ("softmax-over-queries", "attn-transposed"),
    ),
    "softmax-written-out": Right(
        "mha",
        (
            (
                "        attn = scores.softmax(dim=-1)\n",
                "        attn = (scores - scores.amax(dim=-1, keepdim=True)).exp()\n"
                "        attn = attn / attn.sum(dim=-1, keepdim=True)\n",
            ),
        ),
        ("softmax-unstable",),
        (Case(), Case(values="large")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHTS)
def test_it_is_right(name: str) -> None:
    right = RIGHTS[name]
    changed = pitfalls.change(right.reference, [Change(right=a, wrong=b) for a, b in right.changes])
    for case in right.cases:
        outcome = pitfalls.compare(changed, case)
        assert outcome.shows == "same", outcome


@pytest.mark.parametrize("name", RIGHTS)
def test_the_mistake_that_it_is_taken_for_shows(name: str) -> None:
    right = RIGHTS[name]
    for id_ in right.unlike:
        entry = pitfalls.entry(id_)
        form = next(form for form in entry.forms if right.reference in form.references)
        shown = [pitfalls.run(entry, case, form=form.name, reference=right.reference).shows for case in right.cases]
        assert set(shown) != {"same"}, id_


def test_all_that_was_reported_is_here() -> None:
    """In `RIGHTS`, or below."""
    alarms = {id_: case for id_, case in CASES.items() if isinstance(case, list)}
    here = {name for name in globals() if name.startswith("test_ok_")}
    others = {name.removeprefix("test_").replace("_", "-") for name in here}
    assert alarms.keys() == {name for name in RIGHTS if name.startswith("ok-")} | others
    for id_, right in RIGHTS.items():
        if id_ in alarms and right.unlike:
            assert set(alarms[id_]) & set(right.unlike), yaml.safe_dump(alarms[id_])


def test_ok_output_projection_other_name() -> None:
    """Parameters of another name: only their weights have to be given by hand."""
    renamed = pitfalls.change(
        "mha",
        [
            Change(right="self.w_o = nn.Linear", wrong="self.c_proj = nn.Linear"),
            Change(right="return self.w_o(out)", wrong="return self.c_proj(out)"),
        ],
    )
    plain, other = (build(changed, Case()).made for changed in (pitfalls.unchanged("mha"), renamed))
    draw_weights(plain, plain)
    other.load_state_dict({name.replace("w_o", "c_proj"): value for name, value in plain.state_dict().items()})
    given = inputs(pitfalls.reference("mha"), Case()).given
    assert torch.equal(other(**given), plain(**given))
    assert pitfalls.run(pitfalls.entry("output-projection-missing")).shows == "numbers"


def out_of(reference: str, *changes: tuple[str, str]) -> torch.Tensor:
    """The output of the first call."""
    changed = pitfalls.change(reference, [Change(right=right, wrong=wrong) for right, wrong in changes])
    return pitfalls.walk(changed)[0].result[0]


SHIFT = (("q = rotate(q, start)", "q = rotate(q, start + 5)"), ("k = rotate(k, start)", "k = rotate(k, start + 5)"))
BACKWARDS = ("(a * cos - b * sin, b * cos + a * sin)", "(a * cos + b * sin, b * cos - a * sin)")


def test_ok_rope_transposed_rotation() -> None:
    """Turned by the opposite sign, the product still depends on the difference of the positions alone.

    The numbers are others for the same weights, so a checkpoint is tied to one of the two.
    """
    torch.testing.assert_close(out_of("rope", BACKWARDS), out_of("rope", BACKWARDS, *SHIFT))
    assert not torch.allclose(out_of("rope", BACKWARDS), out_of("rope"))


def test_ok_rope_same_sign_for_q_and_k() -> None:
    """Turned the same way, the difference of the positions is left; turned opposite ways, their sum."""
    torch.testing.assert_close(out_of("rope"), out_of("rope", *SHIFT))
    opposite = ("k = rotate(k, start)", "k = rotate(k.flip(2), -start - L + 1).flip(2)")
    later = ("k = rotate(k, start)", "k = rotate(k.flip(2), -start - 5 - L + 1).flip(2)")
    assert not torch.allclose(out_of("rope", opposite), out_of("rope", SHIFT[0], later))


def test_ok_softmax_per_row() -> None:
    """Each row of the weights sums to 1, and so the whole map to L."""
    [walk] = pitfalls.walk(pitfalls.unchanged("mha"))
    attn: Any = next(step for step in walk.steps if step.op == "softmax").outputs[0].value
    torch.testing.assert_close(attn.sum(-1), torch.ones(4, 6, 5).double())
    torch.testing.assert_close(attn.sum((-2, -1)), torch.full((4, 6), 5.0).double())
