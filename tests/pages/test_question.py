"""The question page shows what its runs gave."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from core import content
from pages._ui import i18n, question

Open = Callable[..., AppTest]


def text_of(app: AppTest) -> str:
    return "\n".join([*(m.value for m in app.markdown), *(c.value for c in app.code), *(h.value for h in app.caption)])


@pytest.mark.parametrize("section", question.SECTIONS)
def test_every_section_opens_by_link(open_page: Open, section: str, lang: str) -> None:
    app = open_page("question", section=section, lang=lang)
    assert not app.exception
    assert not app.error
    assert app.segmented_control(key="section").value == section
    assert content.load_question().title[lang] in text_of(app)


def test_an_unknown_section_opens_the_first(open_page: Open) -> None:
    app = open_page("question", section="../../etc")
    assert app.segmented_control(key="section").value == "answer"
    assert not app.error


def test_the_answer_is_run_on_the_page(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    """The shape comes from the code that is shown: another demo prints another shape."""
    assert "torch.Size([2, 10, 64])" in [code.value for code in open_page("question").code]
    changed = content.standard_answer_source().replace("(2, 10, 64)", "(3, 7, 64)")
    monkeypatch.setattr("core.content._demonstrate.standard_answer_source", lambda: changed)
    from pages._ui import cache

    cache.answer_output.clear()
    try:
        printed = [code.value for code in open_page("question").code]
    finally:
        cache.answer_output.clear()
    assert "torch.Size([3, 7, 64])" in printed
    assert "torch.Size([2, 10, 64])" not in printed


def test_each_pitfall_shows_its_diff_and_what_torch_said(open_page: Open, lang: str) -> None:
    app = open_page("question", section="pitfalls", lang=lang)
    shown = text_of(app)
    for pitfall in content.load_question().pitfalls:
        outcome = content.demonstrate(pitfall.id)
        assert f"- {outcome.right_line}\n+ {outcome.wrong_line}" in shown
        for run in outcome.runs:
            assert run.error is None or run.error in shown
    assert "view size is not compatible" in shown


def test_followups_show_computed_tables(open_page: Open, lang: str) -> None:
    app = open_page("question", section="followups", lang=lang)
    tables = "".join(element.proto.body for element in app.get("html"))
    for row in content.cache_table():
        assert row.model.name in tables
    assert i18n.catalogue(lang)["question.cache.as_mha"] in tables
    assert "{" not in text_of(app)  # no placeholder was left unfilled
