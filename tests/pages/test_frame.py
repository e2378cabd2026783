"""The frame: language, navigation, and words for what goes wrong."""

from collections.abc import Callable

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from core.errors import BadInput
from pages._ui import i18n, links

Open = Callable[..., AppTest]


@pytest.mark.parametrize("page_id", links.PAGES)
def test_every_page_opens_without_an_error_in_its_language(open_page: Open, page_id: str, lang: str) -> None:
    app = open_page(page_id, lang=lang)
    assert not app.exception
    assert not app.error
    words = i18n.catalogue(lang)
    assert app.title[0].value == words["home.title" if page_id == "home" else f"nav.{page_id}"]
    assert app.sidebar.caption[0].value == words["frame.motto"]


def test_the_url_decides_the_language_and_an_unknown_one_falls_back(open_page: Open) -> None:
    assert open_page("home", lang="zh").title[0].value == i18n.catalogue("zh")["home.title"]
    for hostile in ("fr", "ZH", "", "../zh", "<script>"):
        assert open_page("home", lang=hostile).title[0].value == i18n.catalogue("en")["home.title"]


def test_switching_the_language_rewords_the_page_and_the_link(open_page: Open) -> None:
    app = open_page("question", section="glossary")
    app.sidebar.segmented_control(key="lang").set_value("zh").run()
    assert app.title[0].value == i18n.catalogue("zh")["nav.question"]
    assert app.query_params["lang"] == "zh"
    assert app.segmented_control(key="section").value == "glossary"
    app.sidebar.segmented_control(key="lang").set_value("en").run()
    assert app.title[0].value == i18n.catalogue("en")["nav.question"]
    assert "lang" not in app.query_params  # the browser's own language needs no mention


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-CN", "zh"), ("zh", "zh"), ("en-GB", "en"), ("de-DE", "en"), (None, "en")]
)
def test_the_browsers_language_is_the_default(locale: str | None, language: str) -> None:
    assert i18n.from_locale(locale) == language


def test_a_page_that_fails_ends_in_words(open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    def fail() -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("pages._ui.question.asked", fail)
    app = open_page("question", lang=lang)
    assert not app.exception
    assert [error.value for error in app.error] == [i18n.catalogue(lang)["frame.unexpected"]]


def test_an_error_that_explains_itself_is_shown_in_its_three_parts(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    def fail() -> None:
        raise BadInput("content.unknown-pitfall", pitfall="**not** [markdown](x)", known="a, b")

    monkeypatch.setattr("pages._ui.question.asked", fail)
    app = open_page("question", lang=lang)
    shown = app.error[0].value
    words = i18n.catalogue(lang)
    assert all(words[f"frame.{part}"] in shown for part in ("given", "expected", "action"))
    assert r"\*\*not\*\* \[markdown\]\(x\)" in shown  # quoted as typed, not rendered


def test_numbers_and_booleans_do_not_hide_among_the_words() -> None:
    """YAML reads `on: no` as a boolean: every key and every word must have come through as text."""
    for language in ("en", "zh"):
        catalogue = i18n.catalogue(language)
        assert all(isinstance(key, str) and isinstance(words, str) for key, words in catalogue.items())
    assert yaml.safe_load("key: no") == {"key": False}
