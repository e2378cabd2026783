"""The whole way: client, worker, grader, sandbox, words."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import LANGS, BadInput
from core.judge import Judge, judge
from core.judge.__main__ import main
from core.judge.verdict import in_language
from core.pitfalls import apply, entry, unchanged

RIGHT = unchanged("mha").source
WRONG = apply(entry("merge-no-transpose")).source
KEYS = {
    "problem", "passed", "checks", "findings", "error", "divergence", "trace", "seconds", "printed",
}  # fmt: skip
HEAD = """\
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.w = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[Judge]:
    with Judge() as own:
        yield own


def test_right_code_passes(warm: Judge) -> None:
    verdict = warm.judge("mha", RIGHT)
    assert verdict["passed"]
    assert (verdict["findings"], verdict["error"], verdict["divergence"]) == ([], None, None)
    assert all(check["passed"] and check["detail"] is None for check in verdict["checks"])
    assert [step["op"] for step in verdict["trace"]].count("softmax") == 1


def test_wrong_code_is_named_at_its_line_in_both_languages(warm: Judge) -> None:
    verdict = warm.judge("mha", WRONG)
    (finding,) = verdict["findings"]
    assert (finding["pitfall"], finding["confidence"], finding["proof"]) == ("merge-no-transpose", "proved", "match")
    line = WRONG.splitlines()[finding["line"] - 1]
    assert line[finding["col"] : finding["end_col"]] == "out.reshape(B, L, d_model)"
    for lang in LANGS:
        told = json.dumps(in_language(verdict, lang), ensure_ascii=False)
        assert bool(re.search(r"[\u4e00-\u9fff]", told)) == (lang == "zh")


def test_a_verdict_is_plain_data(warm: Judge) -> None:
    verdict = warm.judge("mha", WRONG)
    assert verdict.keys() >= KEYS
    assert json.loads(json.dumps(verdict)) == verdict


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("        while True:\n            pass\n", "timeout"),
        ("        return torch.empty(10**12)\n", None),
        ("        import os\n        os._exit(0)\n", "exited"),
        ("        raise SystemExit\n", "raises"),
        ("        return self.forward(x)\n", "raises"),
        ("        return self.v(x)\n", "raises"),
    ],
    ids=["loop", "memory", "exit", "SystemExit", "recursion", "AttributeError"],
)
def test_what_goes_wrong_has_words_and_the_next_is_served(warm: Judge, body: str, kind: str | None) -> None:
    verdict = warm.judge("mha", HEAD + body)
    assert not verdict["passed"]
    assert verdict["error"] is not None
    assert kind is None or verdict["error"]["kind"] == kind
    assert all(verdict["error"]["message"][lang] for lang in LANGS)
    assert warm.judge("mha", RIGHT)["passed"]


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("def f(:\n", "syntax", 1),
        ("x = 1\n", "not-defined", None),
        ("def MultiHeadAttention():\n    pass\n", "wrong-kind", None),
        ("class MultiHeadAttention:\n    def __init__(self, a, b): pass\n", "not-a-module", None),
        ("import nothing_of_that_name\n", "import", 1),
        ("#" * 50_000, "too-long", None),
    ],
)
def test_what_is_no_solution_is_told(warm: Judge, source: str, kind: str, line: int | None) -> None:
    error = warm.judge("mha", source)["error"]
    assert (error["kind"], error["line"]) == (kind, line)


def test_the_numbers_cannot_be_forged(warm: Judge) -> None:
    """Every comparison in the submission's own process says yes, and it prints a verdict that it has passed."""
    forged = "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\nprint('{\"passed\": true}')\n" + WRONG
    verdict = warm.judge("mha", forged)
    assert not verdict["passed"]
    assert "passed" in verdict["printed"]


def test_what_fits_no_mistake_is_said_to_fit_none(warm: Judge) -> None:
    odd = RIGHT.replace("attn = scores.softmax(dim=-1)", "attn = (scores.sin() + scores).softmax(dim=-1)")
    verdict = warm.judge("mha", odd)
    assert not verdict["passed"]
    assert verdict["findings"] == []
    assert "scores" in verdict["divergence"]["en"] or "line" in verdict["divergence"]["en"]


def test_an_unknown_problem_is_refused() -> None:
    with pytest.raises(BadInput):
        judge("poetry", "")


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(WRONG, encoding="utf-8")
    assert main(["mha", str(file), "--json", "--lang", "zh"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["findings"][0]["pitfall"] == "merge-no-transpose"
    assert re.search(r"[\u4e00-\u9fff]", verdict["findings"][0]["message"])
    file.write_text(RIGHT, encoding="utf-8")
    assert main(["mha", str(file)]) == 0


@pytest.mark.parametrize("argv", [["poetry", __file__], ["mha", "no such file.py"]])
def test_what_cannot_be_judged_ends_with_2(argv: list[str]) -> None:
    assert main(argv) == 2


def test_the_layers_of_the_sandbox_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sandbox"]) == 0
    assert capsys.readouterr().out.strip()
