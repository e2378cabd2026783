"""Each error that is explained: the right code, its words in both languages, the line it comes from."""

from pathlib import Path

import pytest
import torch
import yaml
from torch import nn

from core.errors import LANGS, BadInput
from core.trace import _explain, record

B, L, H, D = 2, 5, 4, 12
X = torch.zeros(B, L, D)


def explained(function, *args, **kwargs):
    trace = record(function, *(args or (X,)), axes=["B L d_model"], **kwargs)
    assert trace.error is not None
    assert trace.explanation is not None
    assert trace.explanation is trace[-1].explanation
    return trace.explanation


CASES = {
    "view-after-turn": lambda x: x.view(B, L, H, 3).transpose(1, 2).view(B, L, D),
    "view-after-cut": lambda x: x[..., :4].view(B, 20),
    "view-after-expand": lambda x: x[:, :, None].expand(B, L, 2, D).view(B, 10, D),
    "view-strides": lambda x: torch.empty_strided((5, 4), (1, 5)).view(20),
    "view-size": lambda x: x.view(B, L, 5, 3),
    "view-infer": lambda x: x.view(B, L, 5, -1),
    "matmul-inner": lambda x: x @ x,
    "matmul-linear": lambda x: nn.Linear(6, 6)(x),
    "matmul-batch": lambda x: torch.zeros(B, 4, L, 3) @ torch.zeros(B, 2, 3, L),
    "dtypes-differ": lambda x: x @ x.double().mT,
    "broadcast": lambda x: x + x[:, :2],
    "mask-not-bool": lambda x: x.masked_fill(torch.ones(L, D), 0.0),
    "cat-ranks": lambda x: torch.cat([x, x[0]]),
    "cat-sizes": lambda x: torch.cat([x, x[:, :1]], dim=0),
    "split-sizes": lambda x: x.split([4, 4], dim=-1),
    "no-such-axis": lambda x: x.transpose(1, 3),
    "other": lambda x: torch.linalg.inv(x),
}


@pytest.mark.parametrize("code", CASES)
def test_the_cause_is_found(code):
    explanation = explained(CASES[code])
    assert explanation.code == f"trace.{code}"
    for lang in LANGS:
        parts = explanation.parts(lang)
        assert all(parts)
        assert "{" not in "".join(parts)


def test_the_line_that_turned_the_axes_is_named():
    text = "def f(x):\n    y = x.transpose(1, 2)\n    z = y[:, :, :]\n    return z.view(2, 60)\n"
    space = {}
    exec(compile(text, "<answer>", "exec"), space)  # a string of our own
    explanation = explained(space["f"], X, sources={"<answer>": text})
    assert explanation.params["line"] == 2
    assert "`transpose` on line 2" in explanation.parts("en").given
    assert "第 2 行的 `transpose`" in explanation.parts("zh").given


def test_a_copy_in_between_ends_the_blame():
    explanation = explained(lambda x: x.transpose(1, 2).contiguous()[:, :, :3].view(B, 36))
    assert explanation.params["cause"] == "getitem"


def test_the_meaning_of_the_axes_is_told():
    parts = explained(lambda x: x @ x).parts("en")
    assert "(2, 5, 12) [B, L, d_model]" in parts.given
    assert "12 on the left and 5 on the right" in parts.expected


def test_a_size_that_merely_broadcasts_is_not_blamed():
    explanation = explained(lambda x: torch.zeros(1, 4, L, 3) @ torch.zeros(B, 1, 4, L))
    assert explanation.code == "trace.matmul-inner"


def words():
    path = Path(_explain.__file__).with_name("errors.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_every_code_has_words_and_every_word_a_use():
    sources = "".join(p.read_text(encoding="utf-8") for p in Path(_explain.__file__).parent.glob("*.py"))
    built = {"view-size", "view-infer", "matmul-batch", "matmul-linear", "matmul-inner"}
    for code, parts in words().items():
        assert f'"trace.{code}"' in sources or code in built, code
        assert list(parts) == ["given", "expected", "action"]
        assert all(set(part) == set(LANGS) and all(part.values()) for part in parts.values())


@pytest.mark.parametrize(
    ("axes", "code"),
    [
        ({"x": "B L"}, "axes-do-not-fit"),
        ({"x": "B L H··d_h"}, "axes-do-not-fit"),
        ({"y": "B L d_model"}, "axes-of-nothing"),
        ({"x": "B L H·d_h"}, "axis-sizes-differ"),
    ],
)
def test_axes_that_do_not_fit_are_refused(axes, code):
    with pytest.raises(BadInput) as caught:
        record(lambda x: x + 1, X, axes=axes)
    assert caught.value.code == f"trace.{code}"
    for lang in LANGS:
        assert all(caught.value.parts(lang))
