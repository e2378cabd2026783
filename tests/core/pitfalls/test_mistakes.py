"""Mistakes that people made, as they were published: each runs as told, and is a case of an entry of the catalogue."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from core import pitfalls
from core.pitfalls import IDS

DATA = Path(__file__).parents[2] / "data"
MISTAKES = [json.loads(line) for line in (DATA / "mistakes.jsonl").read_text(encoding="utf-8").splitlines()]
CASES: dict[str, str | list[str]] = yaml.safe_load((DATA / "mistakes.yaml").read_text(encoding="utf-8"))

each_mistake = pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["id"])


@pytest.fixture(autouse=True)
def random_state() -> Iterator[None]:
    """They seed torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.mark.filterwarnings("ignore")  # some do what torch warns of
@each_mistake
def test_it_happens_as_told(mistake: dict[str, str]) -> None:
    names: dict[str, Any] = {}
    exec(mistake["setup"], names)
    if "expect_error" in mistake:
        with pytest.raises(Exception) as caught:  # noqa: PT011  of any type; which one is told
            exec(mistake["code"], names)
        assert re.match(mistake["expect_error"], f"{caught.type.__name__}: {caught.value}")
    else:
        exec(mistake["code"], names)
        assert eval(mistake["check"], names)
    if "fix" in mistake:
        exec(mistake["fix"], names)
        assert eval(mistake["fix_check"], names)


def test_each_is_a_case_of_the_catalogue() -> None:
    assert [mistake["id"] for mistake in MISTAKES if mistake["id"] not in CASES] == []
    assert len(CASES) == len(MISTAKES)
    for mistake in MISTAKES:
        case = CASES[mistake["id"]]
        assert isinstance(case, list) == (mistake["kind"] == "false-alarm")
        assert set([case] if isinstance(case, str) else case) <= set(IDS)


@pytest.mark.parametrize("mistake", [m for m in MISTAKES if "expect_error" in m], ids=lambda mistake: mistake["id"])
def test_what_raises_there_raises_in_the_catalogue(mistake: dict[str, str]) -> None:
    """Somewhere in its entry, with an error of the same type (a value that is None raises where it is used)."""
    entry = pitfalls.entry(str(CASES[mistake["id"]]))
    shown = [run for form in entry.forms for run in form.runs if run.shows in ("raises", "returns")]
    kinds = set(re.findall(r"\w+Error", mistake["expect_error"]))
    assert any(run.shows == "returns" or run.error.partition(":")[0] in kinds for run in shown)


@pytest.mark.parametrize("mistake", [m for m in MISTAKES if m["silent"] and m["kind"] != "false-alarm"],
                         ids=lambda mistake: mistake["id"])  # fmt: skip
def test_what_is_silent_there_is_silent_in_the_catalogue(mistake: dict[str, str]) -> None:
    """Somewhere in its entry something shows that is no error."""
    entry = pitfalls.entry(str(CASES[mistake["id"]]))
    assert any(run.shows not in ("raises", "same") for form in entry.forms for run in form.runs)
