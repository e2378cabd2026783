"""A submission's run as a trace beside the reference's: what comes of it, and where the two part."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.errors import LANGS, BadInput
from core.judge import Judge
from core.judge._executor import FILENAME
from core.judge._walk import MOST, _refused
from core.judge.problems import problems
from core.judge.sandbox import Stopped
from core.pitfalls import unchanged
from core.trace import Trace
from core.trace.portable import load

SIZES = {"B": 2, "L": 5, "Lk": 7, "H": 4, "H_kv": 2, "d_h": 6}
RIGHT = """\
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.d_h = n_heads, d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, d = x.shape
        q, k, v = self.qkv(x).view(B, L, 3, self.h, self.d_h).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / self.d_h**0.5
        attn = scores.softmax(dim=-1)
        out = attn @ v
        merged = out.transpose(1, 2).reshape(B, L, d)
        return self.wo(merged)
"""
EINSUM = RIGHT.replace("permute(2, 0, 3, 1, 4)", "unbind(2)").replace(
    "q @ k.transpose(-2, -1)", 'torch.einsum("blhd,bmhd->bhlm", q, k)'
).replace("attn @ v", 'torch.einsum("bhlm,bmhd->blhd", attn, v)').replace("out.transpose(1, 2)", "out")  # fmt: skip


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as one:
        yield one


def walked(judge: Judge, source: str, problem: str = "mha", sizes: dict[str, int] = SIZES) -> dict[str, Any]:
    return json.loads(json.dumps(judge.judge(problem, source, walk=sizes)))


def own_of(told: dict[str, Any], source: str) -> Trace:
    return load(told["own"], sources={FILENAME: source})


@pytest.mark.parametrize("source", [RIGHT, EINSUM], ids=["matmul", "einsum"])
def test_right_code_never_parts_and_its_axes_are_named(judge: Judge, source: str) -> None:
    told = walked(judge, source)
    own = own_of(told, source)
    assert told["error"] is told["parts_at"] is None
    assert len(told["pairs"]) == len(own) > 5
    softmax = next(step for step in own if step.op == "softmax")
    assert softmax.output is not None
    assert [str(axis) for axis in softmax.output.axes] == ["B", "H", "L", "Lk"]
    assert softmax.source.text == "scores.softmax(dim=-1)"
    assert softmax.output.shape == (2, 4, 5, 5)
    changed = unchanged("mha")
    beside = load(told["reference"], sources={changed.filename: changed.source})
    assert beside[told["pairs"][softmax.index]].op == "softmax"


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        ("out.transpose(1, 2).reshape(B, L, d)", "out.reshape(B, L, d)", "out.reshape(B, L, d)"),
        ("/ self.d_h**0.5", "/ self.d_h", "q @ k.transpose(-2, -1) / self.d_h"),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-2)", "scores.softmax(dim=-2)"),
        ("attn @ v", "attn @ k", "attn @ k"),
        ("self.wo(merged)", "self.wo(merged) + x", "self.wo(merged) + x"),
        ("transpose(1, 2).reshape", "transpose(1, 2).view", "out.transpose(1, 2).view(B, L, d)"),
    ],
)
def test_the_first_step_that_departs_is_found(judge: Judge, right: str, wrong: str, text: str) -> None:
    assert right in RIGHT
    source = RIGHT.replace(right, wrong)
    told = walked(judge, source)
    own = own_of(told, source)
    assert told["error"] is None
    assert own[told["parts_at"]].source.text == text


def test_a_run_that_raises_is_a_trace_that_says_why(judge: Judge) -> None:
    source = RIGHT.replace("transpose(1, 2).reshape", "transpose(1, 2).view")
    own = own_of(walked(judge, source), source)
    assert own.explanation is not None
    assert own.explanation.code == "trace.view-after-turn"
    assert own.error_source is not None
    assert own.error_source.line == 17


def test_a_run_that_ends_between_two_steps_has_departed_nowhere(judge: Judge) -> None:
    source = RIGHT.replace("merged = ", "merged = missing + ")
    told = walked(judge, source)
    assert told["error"] is told["parts_at"] is None
    assert str(own_of(told, source).error) == "name 'missing' is not defined"


def test_beside_each_arrangement_is_the_references_own(judge: Judge) -> None:
    told = walked(judge, RIGHT)
    own = own_of(told, RIGHT)
    changed = unchanged("mha")
    beside = load(told["reference"], sources={changed.filename: changed.source})
    turned = next(step for step in own if step.source.text == "out.transpose(1, 2)")
    assert beside[told["pairs"][turned.index]].op == "transpose"
    assert told["pairs"][turned.index] > told["pairs"][turned.index - 1]


@pytest.mark.parametrize("problem", [one.id for one in problems()])
def test_every_problems_reference_walks_beside_itself(judge: Judge, problem: str) -> None:
    told = walked(judge, unchanged(problem).source, problem)
    assert told["error"] is told["parts_at"] is None
    assert len(told["own"]["steps"]) == len(told["reference"]["steps"]) == len(told["pairs"])


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def (", "judge.walk-raises-at"),
        ("x = 1", "judge.walk-raises"),
        (RIGHT.replace("super()", "1 / 0; super()"), "judge.walk-raises-at"),
        (RIGHT.replace("B, L, d = x.shape", "1 / 0"), "judge.walk-raises-at"),
        (RIGHT.replace("B, L, d = x.shape", "return x"), "judge.walk-empty"),
        (RIGHT.replace("B, L, d = x.shape", "while True: pass"), "judge.sandbox-timeout"),
        (RIGHT.replace("B, L, d = x.shape", "import os; os._exit(0)"), "judge.sandbox-exited"),
        (RIGHT.replace("B, L, d = x.shape", "B, L, d = x.shape; torch.zeros(3000, 3000)"), "trace.too-large"),
        (RIGHT.replace("B, L, d = x.shape", "B, L, d = [(x * 1).shape for _ in range(2000)][0]"), "trace.too-long"),
        ("#" * 40_001, "judge.walk-too-long"),
    ],
    ids=["syntax", "undefined", "init", "forward", "no step", "endless", "exit", "large", "long", "text"],
)  # fmt: skip
def test_where_there_is_no_run_to_see_it_says_why(judge: Judge, source: str, code: str) -> None:
    told = walked(judge, source)
    assert told["own"] is told["reference"] is None
    assert told["error"]["code"] == code
    for lang in LANGS:
        assert all(BadInput(code, **told["error"]["params"]).parts(lang))


def test_sizes_that_the_reference_refuses_leave_the_own_run(judge: Judge) -> None:
    source = RIGHT.replace("MultiHeadAttention", unchanged("rope").reference.call)
    told = walked(judge, source, "rope", {**SIZES, "d_h": 5})
    assert told["own"] is not None
    assert told["reference"] is told["error"] is None


@pytest.mark.parametrize(("name", "size"), [("B", 5), ("L", 17), ("H", 9), ("L", 0), ("d_h", 40)])
def test_sizes_are_bounded(judge: Judge, name: str, size: int) -> None:
    told = walked(judge, RIGHT, sizes={**SIZES, name: size})
    assert told["error"]["code"] == "judge.walk-size"
    assert told["error"]["params"]["most"] in MOST.values()


MODULES = "[type(o)._walk.__globals__ for o in gc.get_objects() if type(o).__name__ == 'Executor']"


def test_a_child_that_forges_its_trace_is_not_believed(judge: Judge) -> None:
    reach = f"import gc; [g.update(dump=lambda trace: {{'steps': []}}) for g in {MODULES}]; B, L, d = x.shape"
    told = walked(judge, RIGHT.replace("B, L, d = x.shape", reach))
    assert told["own"] is told["reference"] is None
    assert told["error"]["code"] == "judge.sandbox-garbled"


@pytest.mark.parametrize(
    "refusal",
    [None, {}, {"code": 1, "params": {}}, {"code": "trace.too-long", "params": {}}, {"code": "judge.walk-size"}],
)
def test_a_refusal_that_is_none_is_garbled(refusal: Any) -> None:
    assert isinstance(_refused(refusal), Stopped)
