"""Labelled submissions of many people in many styles: the verdict, the mistake's name, and a line that is fair."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.judge.local import Judged, judge_here

GIVEN = Path(__file__).parent / "given"
FURTHER = Path(__file__).parent / "submissions"  # written by people who had not seen the judge
# Of those, what is seen to be wrong but not named.
NOT_NAMED = {
    "kv_cache/011.py": "nan in slots that nobody wrote",
    "rope/005.py": "two mistakes in one rotation",
    "sliding_window/007.py": "a block that is hidden whole",
    "sdpa/006.py": "nan times a weight of 0",
}
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of what candidates write


def labels(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def judged(folder: Path, label: dict[str, Any]) -> Judged:
    return judge_here(label["problem"], (folder / label["file"]).read_text(encoding="utf-8"))


def at_fair_line(found: Judged, label: dict[str, Any]) -> bool:
    """Whether every mistake of the label that was named stands on a line that the label accepts."""
    spans = [finding.span for finding in found.findings if finding.pitfall in label["pitfalls"]]
    return all(span and any(span[0] <= line <= span[1] for line in label["lines"]) for span in spans)


@pytest.mark.parametrize("label", [x for x in labels(GIVEN) if x["verdict"] == "right"], ids=lambda x: x["file"])
def test_right_code_passes_in_every_style_and_nothing_is_found_in_it(label):
    found = judged(GIVEN, label)
    assert (found.failed, found.findings) == ([], [])


@pytest.mark.parametrize("label", [x for x in labels(GIVEN) if x["verdict"] == "wrong"], ids=lambda x: x["file"])
def test_wrong_code_fails_and_its_mistakes_are_named_on_a_fair_line(label):
    found = judged(GIVEN, label)
    assert not found.passed
    assert found.ids == set(label["pitfalls"])
    assert at_fair_line(found, label)


@pytest.mark.parametrize("label", [x for x in labels(FURTHER) if x["verdict"] == "right"], ids=lambda x: x["file"])
def test_further_right_code_passes(label):
    found = judged(FURTHER, label)
    assert (found.failed, found.findings) == ([], [])


@pytest.mark.parametrize("label", [x for x in labels(FURTHER) if x["verdict"] == "wrong"], ids=lambda x: x["file"])
def test_further_wrong_code_fails_and_is_named_where_it_has_a_name(label):
    found = judged(FURTHER, label)
    assert not found.passed
    if label["pitfalls"] and label["file"] not in NOT_NAMED:
        assert found.ids & set(label["pitfalls"])
        assert at_fair_line(found, label)
    proved = {finding.pitfall for finding in found.findings if finding.confidence == "proved"}
    if not label["pitfalls"]:
        assert not proved  # what has no name is not given one for sure


def test_the_verdict_does_not_hang_on_what_is_drawn():
    label = next(x for x in labels(GIVEN) if x["pitfalls"] == ["merge-no-transpose"])
    source = (GIVEN / label["file"]).read_text(encoding="utf-8")
    assert {frozenset(judge_here(label["problem"], source, seed=seed).ids) for seed in range(4)} == {
        frozenset({"merge-no-transpose"})
    }
