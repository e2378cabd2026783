"""Broken solutions in the coding room: the same from a link, told only on request, praised; and hostile links."""

import json
import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from core import pitfalls
from core.errors import Lang
from core.judge.problems import problem, problems
from pages._ui import cache
from pages._ui.coding import choosing, debugging
from tests.pages.coding import (
    FINDING,
    SEED,
    FakeJudge,
    editor_of,
    has,
    html_of,
    press,
    run,
    text,
    type_in,
    verdict,
    words,
    written,
)

Open = Callable[..., AppTest]
LINK = {"problem": "mha", "mode": "debug", "seed": "7", "mistakes": "2"}
ROOM, TASK = "mha_2_7", debugging.draw("mha", 7, 2)


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch) -> FakeJudge:
    fake = FakeJudge()
    monkeypatch.setattr(cache, "judge", lambda: fake)
    return fake


def test_a_link_opens_the_very_task(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    app = open_page("coding_room", **LINK, lang=lang)
    assert not app.exception
    assert editor_of(app)["text"] == TASK.source
    assert {name: app.query_params[name] for name in LINK} == LINK
    assert words("coding.debug.two", lang) in written(app)
    assert not has(app, "hint")
    assert not has(app, "solution")
    assert judge.asked == []


def names(app: AppTest, entry: pitfalls.Entry) -> bool:
    everything = html_of(app) + written(app) + json.dumps(editor_of(app)["marks"])
    links = [element.proto.query_string for element in app.get("page_link")]
    return entry.id in everything or f"mistake={entry.id}" in links


def test_what_is_wrong_and_where_is_told_on_request_alone(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    entry = TASK.entries[0]
    judge.verdict = verdict(passed=False, findings=[FINDING | {"pitfall": entry.id}], divergence=text("up to line 3"))
    app = run(open_page("coding_room", **LINK, lang=lang), TASK.source, ROOM)
    assert words("coding.failed", lang) in html_of(app)
    assert not any(names(app, one) for one in TASK.entries)
    assert editor_of(app)["marks"] == []
    assert "up to line 3" not in html_of(app)
    assert words("coding.debug.kept", lang) in written(app)
    press(app, "tell")
    assert all(names(app, one) for one in TASK.entries)
    assert len(editor_of(app)["marks"]) == 1
    assert words("coding.debug.kept", lang) not in written(app)


def test_what_python_says_is_told_also_here(open_page: Open, judge: FakeJudge) -> None:
    error = {"kind": "raises", "line": 2, "message": text("RuntimeError: shape")}
    judge.verdict = verdict(passed=False, error=error)
    app = run(open_page("coding_room", **LINK), TASK.source, ROOM)
    assert "RuntimeError: shape" in html_of(app)
    assert [mark["severity"] for mark in editor_of(app)["marks"]] == ["error"]


def test_a_small_repair_is_praised_and_a_new_solution_accepted(open_page: Open, lang: Lang) -> None:
    app = run(open_page("coding_room", **LINK, lang=lang), TASK.right, ROOM)
    assert words("coding.debug.small", lang, lines=TASK.lines, enough=TASK.lines) in written(app)
    assert words("coding.debug.diff", lang) not in [expander.label for expander in app.expander]
    run(app, SEED, ROOM)
    touched = debugging.lines_changed(TASK.source, SEED)
    assert touched > TASK.lines + 1
    assert words("coding.passed", lang) in html_of(app)
    assert words("coding.debug.large", lang, lines=touched, enough=TASK.lines) in written(app)
    assert debugging.diff(TASK.source, TASK.right) in [code.value for code in app.code]


def test_another_task_has_another_number_and_keeps_the_draft_of_this_one(open_page: Open) -> None:
    app = type_in(open_page("coding_room", **LINK), "mine", ROOM)
    press(app, "another")
    seed = app.query_params["seed"]
    assert seed != "7"
    assert editor_of(app)["text"] == debugging.draw("mha", int(seed), 2).source
    assert editor_of(open_page("coding_room", **LINK | {"seed": seed}))["text"] == editor_of(app)["text"]


def test_to_write_and_to_repair_are_two_rooms(open_page: Open) -> None:
    app = type_in(open_page("coding_room", **LINK), "mine", ROOM)
    app.segmented_control(key="mode").set_value("write").run()
    assert editor_of(app)["text"] == problem("mha").starter
    assert not {"mode", "mistakes", "seed"} & set(app.query_params)
    app.segmented_control(key="mode").set_value("debug").run()
    assert editor_of(app)["text"] == "mine"
    assert {name: app.query_params[name] for name in LINK} == LINK


def test_debugging_without_a_number_draws_one(open_page: Open) -> None:
    app = open_page("coding_room", problem="gqa", mode="debug")
    seed = app.query_params["seed"]
    assert seed in choosing.SEEDS
    assert editor_of(app)["text"] == debugging.draw("gqa", int(seed), 1).source


# Links that are none of ours -----------------------------------------------------------------------------------------

HOSTILE = ["no_such", "../mha", "<img src=x onerror=alert(1)>", "mha'--", "**x** [y](z)", "x" * 5000, "", "MHA"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_unknown_problem_is_told_in_three_parts(open_page: Open, hostile: str, lang: Lang) -> None:
    app = open_page("coding_room", problem=hostile, lang=lang)
    assert not app.exception
    assert app.selectbox(key="problem").value == problems()[0].id
    (error,) = app.error
    assert all(words(f"frame.{part}", lang) in error.value for part in ("given", "expected", "action"))
    assert len(error.value) < 1000
    assert not re.search(r"(?<!\\)[<*\[]", error.value.replace("**", ""))
    app.selectbox(key="problem").set_value("gqa").run()
    assert not app.error


@pytest.mark.parametrize("name", ["mode", "mistakes", "seed"])
@pytest.mark.parametrize("hostile", [*HOSTILE, "0", "-1", "3", "1e3", "1000", "٣", "7 ", "nan"])
def test_other_nonsense_in_a_link_falls_back(open_page: Open, name: str, hostile: str) -> None:
    app = open_page("coding_room", **LINK | {name: hostile})
    assert not app.exception
    assert not app.error
    if name == "mode":
        assert editor_of(app)["text"] == problem("mha").starter
    elif name == "mistakes":
        assert editor_of(app)["text"] == debugging.draw("mha", 7, 1).source
    else:
        seed = app.query_params["seed"]
        assert seed in choosing.SEEDS
        assert seed == hostile or hostile not in choosing.SEEDS
