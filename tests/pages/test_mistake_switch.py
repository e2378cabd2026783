"""The mistake switch: every mistake of the catalogue can be walked, and the page says what really happens."""

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from core import pitfalls
from core.quiz import load_bank
from pages._ui import i18n
from pages._ui.walk import mistakes
from pages._ui.walk.listing import listing

Open = Callable[..., AppTest]


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


# The mistake of `mask-expanded-in-place` is the very thing that torch warns of.
@pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded tensors:UserWarning")
@pytest.mark.parametrize("pitfall_id", [entry.id for entry in pitfalls.catalogue()])
def test_on_the_walks_small_sizes_a_mistake_shows_what_it_is_declared_to(pitfall_id: str) -> None:
    mistake = mistakes.run(pitfall_id)
    assert mistake.outcome.shows == mistakes.shown_run(mistake.entry).shows
    assert mistake.diff.startswith("- ") or mistake.diff.startswith("+ ")
    for trace in (mistake.right, mistake.wrong):
        if trace is not None:
            assert mistake.at <= mistake.last
            for step in trace:
                assert "<mark>" in listing(trace, step)


@pytest.mark.parametrize("pitfall_id", ["split-view-direct", "head-dim-wrong", "no-divisibility-check"])
def test_the_page_opens_where_right_and_wrong_part(open_page: Open, pitfall_id: str, lang: str) -> None:
    app = open_page("shape_walk", mistake=pitfall_id, lang=lang)
    words = i18n.catalogue(lang)
    mistake = mistakes.run(pitfall_id)
    assert not app.exception
    assert app.selectbox(key="mistake").value == pitfall_id
    assert app.slider(key="step").value == mistake.at + 1
    assert words["walk.mistake.parts_here"] in [info.value for info in app.info]
    assert mistake.diff in [code.value for code in app.code]
    if mistake.outcome.error:
        assert mistake.outcome.error in [code.value for code in app.code]


def test_a_silent_mistake_says_how_far_off_and_shows_the_mixture(open_page: Open) -> None:
    app = open_page("shape_walk", mistake="split-view-direct")
    outcome = mistakes.run("split-view-direct").outcome
    said = "\n".join(markdown.value for markdown in app.markdown)
    assert f"{outcome.difference:.2g}" in said
    assert "L·H mixed" in html_of(app)
    assert "L·H mixed" not in html_of(open_page("shape_walk"))


def test_the_way_to_a_question_about_the_mistake(open_page: Open) -> None:
    (link,) = (element.proto for element in open_page("shape_walk", mistake="split-view-direct").get("page_link"))
    asked = load_bank().question(link.query_string.removeprefix("question="))
    assert asked is not None
    assert "split-view-direct" in asked.pitfalls


def test_a_loud_mistake_is_explained_in_three_parts(open_page: Open, lang: str) -> None:
    app = open_page("shape_walk", mistake="head-dim-wrong", lang=lang)
    explained = app.warning[0].value
    assert all(i18n.catalogue(lang)[f"frame.{part}"] in explained for part in ("given", "expected", "action"))


def test_the_list_of_both_walks_marks_where_they_part(open_page: Open, lang: str) -> None:
    mistake = mistakes.run("split-no-transpose")
    app = open_page("shape_walk", mistake="split-no-transpose", step="1", lang=lang)
    (component,) = app.get("bidi_component")
    sent = json.loads(component.proto.json)
    _, *rows = sent["table"].split("<tr")[1:]
    assert len(rows) == mistake.last
    marked = [i for i, row in enumerate(rows) if i18n.catalogue(lang)["walk.mistake.part"] in row]
    assert marked == [mistake.at]
    assert sent["lit"] == app.slider(key="step").value - 1
    right, wrong = (trace[mistake.at] for trace in (mistake.right, mistake.wrong))
    assert right.op != wrong.op
    assert f">{right.op}<" in rows[mistake.at]
    assert f">{wrong.op}<" in rows[mistake.at]


def test_the_shorter_walk_leaves_its_rows_empty(open_page: Open) -> None:
    mistake = mistakes.run("head-dim-wrong")
    (component,) = open_page("shape_walk", mistake="head-dim-wrong").get("bidi_component")
    _, *rows = json.loads(component.proto.json)["table"].split("<tr")[1:]
    ended = [len(trace) for trace in (mistake.right, mistake.wrong) if trace is not None]
    assert sum("<td></td>" in row for row in rows) == max(ended) - min(ended) > 0


def test_another_mistake_starts_where_that_one_parts(open_page: Open) -> None:
    app = open_page("shape_walk", mistake="split-view-direct")
    app.slider(key="step").set_value(9).run()
    app.selectbox(key="mistake").set_value("split-no-transpose").run()
    assert app.slider(key="step").value == mistakes.run("split-no-transpose").at + 1
    app.selectbox(key="mistake").set_value("none").run()
    assert app.slider(key="step").value == 1
    assert not app.exception


@pytest.mark.parametrize("hostile", ["no-such-mistake", "../x", "<b>", ""])
def test_an_unknown_mistake_in_a_link_is_none(open_page: Open, hostile: str) -> None:
    app = open_page("shape_walk", mistake=hostile)
    assert app.selectbox(key="mistake").value == "none"
    assert not app.error
