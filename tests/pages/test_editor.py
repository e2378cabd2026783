"""The editor as a page has it, and the built file that a browser gets. What a browser shows is in tests/browser."""

import hashlib
import json
import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui import editor, state
from pages._ui.i18n import catalogue
from tests.architecture import ROOT

FOLDER = ROOT / "pages/_ui/editor"
BUILT = (FOLDER / "bundle.js").read_text(encoding="utf-8")


def page() -> None:
    import streamlit as st

    from pages._ui import editor, state

    marks = [editor.Mark(2, 4, 2, 8, "likely", "no <b>scale</b>")]
    asked = editor.submitted("room")
    edited = editor.editor("one\r\ntwo", key="room", draft="headwise:draft:room", findings=marks)
    st.json({"text": edited.text, "submitted": edited.submitted, "run": edited.run, "before": asked})
    st.button("run", on_click=editor.submit, args=("room",))
    st.button("reset", on_click=editor.replace, args=("room", "one\rtwo"))
    st.button("line", on_click=editor.focus, args=("room", 7))
    st.button("sent", on_click=lambda: editor._take("room", "draft"))
    st.text(state.lang())


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page).run()


def shown(app: AppTest) -> dict:
    """What the page got."""
    assert not app.exception
    return json.loads(app.json[0].value)


def told(app: AppTest) -> dict:
    """What the browser is told."""
    protos = [element.proto for element in app.get("bidi_component")]
    (drawn,) = (proto for proto in protos if proto.component_name == "headwise_editor")
    return json.loads(drawn.json or drawn.mixed.json)


def press(app: AppTest, label: str) -> dict:
    next(button for button in app.button if button.label == label).click()
    return shown(app.run())


@pytest.fixture
def send(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], dict]:
    """send(what): the page after the browser has sent it."""

    def sent(what: object) -> dict:
        monkeypatch.setattr(state, "trigger", lambda key, name: what)
        return press(app, "sent")

    return sent


def test_it_starts_with_the_source_and_nothing_asked(app: AppTest) -> None:
    assert shown(app) == {"text": "one\ntwo", "submitted": None, "run": False, "before": None}


def test_a_test_types_and_runs_through_the_state(app: AppTest) -> None:
    app.session_state["room_text"] = "mine"
    assert shown(app.run())["text"] == "mine"
    app.session_state["room_submitted"] = "mine"
    assert shown(app.run()) == {"text": "mine", "submitted": "mine", "run": False, "before": "mine"}


def test_to_run_is_asked_once_and_what_was_asked_stays(app: AppTest) -> None:
    app.session_state["room_text"] = "mine"
    assert press(app, "run") == {"text": "mine", "submitted": "mine", "run": True, "before": "mine"}
    app.session_state["room_text"] = "later"
    assert shown(app.run()) == {"text": "later", "submitted": "mine", "run": False, "before": "mine"}


def test_no_text_at_all_can_be_run(app: AppTest) -> None:
    app.session_state["room_text"] = ""
    assert press(app, "run") == {"text": "", "submitted": "", "run": True, "before": ""}


def test_a_reset_brings_the_text_and_forgets_what_was_asked(app: AppTest) -> None:
    app.session_state["room_text"] = "mine"
    press(app, "run")
    assert press(app, "reset") == {"text": "one\ntwo", "submitted": None, "run": False, "before": None}
    assert told(app)["at"] == 1  # newer than what the browser has


def test_what_the_browser_sends_stands_unless_it_is_older(app: AppTest, send: Callable[[object], dict]) -> None:
    assert send({"text": "new", "at": 50})["text"] == "new"
    assert send({"text": "old", "at": 49})["text"] == "new"
    assert send({"text": "newest", "at": 51})["text"] == "newest"
    assert told(app)["at"] == 51


def test_a_click_and_the_text_typed_before_it_come_together(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "trigger", lambda key, name: {"text": "typed", "at": 60})
    assert press(app, "run")["submitted"] == "typed"
    monkeypatch.setattr(state, "trigger", lambda key, name: {"text": "typed more", "at": 70})
    assert press(app, "reset")["text"] == "one\ntwo"
    assert told(app)["at"] == 71


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "text",
        {},
        {"text": "x"},
        {"text": None, "at": 5},
        {"text": "x", "at": "5"},
        {"text": "x", "at": -1},
        {"text": "x", "at": 2**60},
        {"text": "x", "at": True},
        {"text": "x" * (editor.LIMIT + 1), "at": 5},
    ],
    ids=repr,
)
def test_what_no_editor_sends_is_not_taken(send: Callable[[object], dict], sent: object) -> None:
    assert send(sent)["text"] == "one\ntwo"


def test_each_wish_for_a_line_is_a_new_one(app: AppTest) -> None:
    assert told(app)["focus"] == [1, 0]
    press(app, "line")
    assert told(app)["focus"] == [7, 1]
    press(app, "line")
    assert told(app)["focus"] == [7, 2]


def test_findings_are_worded_in_both_languages(app: AppTest, lang: str) -> None:
    app.session_state[state.LANG] = lang
    data = told(app.run())
    assert data["words"]["label"] == catalogue(lang)["editor.label"]
    (mark,) = data["marks"]
    assert mark["label"] == {"en": "Line 2, likely: ", "zh": "第 2 行，很可能："}[lang] + "no <b>scale</b>"
    assert (mark["line"], mark["col"], mark["end_line"], mark["end_col"]) == (2, 4, 2, 8)


def test_findings_belong_to_the_text_that_was_run(app: AppTest) -> None:
    app.session_state["room_text"] = "mine"
    assert told(app.run())["marked"] == "mine"
    app.session_state["room_submitted"] = "what was run"
    assert told(app.run())["marked"] == "what was run"


# The built file ------------------------------------------------------------------------------------------------------


def test_it_is_built_from_these_sources() -> None:
    """When this fails: `npm ci && npm run build` in the editor's folder."""
    names = ["build.mjs", "package-lock.json", *(f"src/{path.name}" for path in (FOLDER / "src").iterdir())]
    made_of = hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in sorted(names))).hexdigest()
    assert BUILT.splitlines()[0].startswith(f"// Built by build.mjs from {made_of}.")


def test_it_is_small_and_its_licence_lies_beside_it() -> None:
    assert 100_000 < len(BUILT.encode()) <= 500_000
    assert "LICENSE-CodeMirror.txt" in BUILT.splitlines()[0]
    assert "Permission is hereby granted" in (FOLDER / "LICENSE-CodeMirror.txt").read_text(encoding="utf-8")


def test_it_asks_nobody() -> None:
    """No request and no code made of text: what is shown comes as data alone."""
    for word in (r"\bfetch\(", "XMLHttpRequest", "WebSocket", r"\bimport\(", r"\beval\(", r"new Function", "innerHTML"):
        assert not re.search(word, BUILT), word


def test_every_phrase_that_is_translated_is_one_of_codemirrors() -> None:
    missing = [phrase for phrase in editor._PHRASES if f'"{phrase}"' not in BUILT]
    assert missing == []
    assert '"a phrase of nobody"' not in BUILT
