"""The code editor: CodeMirror as a component, its text kept in the session and in the browser.

    editor.editor(starter, key="coding_room_mha", draft="headwise:draft:coding_room:mha", findings=marks)

The text of the editor with `key` is what the person typed last, whatever was rerun, left or reloaded since: the browser
tells the server of it a moment after typing, when the editor is left, and at once with Ctrl/⌘+Enter. One problem, one
key: a second problem's starter under the first one's key would not be shown.

What is asked to be run is known before the editor is drawn, so a page can judge first and draw once:

    asked = editor.submitted(key)
    marks = [] if asked is None else [Mark(…) for finding in verdict(asked).findings]
    edited = editor.editor(starter, key=key, findings=marks)

AppTest runs no component's JavaScript. A page's test types by `app.session_state[f"{key}_text"] = code`, and presses
run by `app.session_state[f"{key}_submitted"] = code`, each before `app.run()`; both then come back in `Edited`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

from pages._ui import state
from pages._ui.i18n import t

LIMIT = 100_000  # UTF-16 units; longer text cannot be typed or pasted
_AT_MOST = 2**53  # up to it the browser counts exactly
_NOTHING = "\0"  # no submission: an empty one is one

# Two components, so that the library, whose message never changes, goes to the browser once and is cached there, and
# only the light half is sent when findings change.
_SHELF = """
globalThis.headwiseEditor ??= (() => {
  let give;
  const taken = new Promise((resolve) => { give = resolve; });
  return { give, taken };
})();
"""
_LIBRARY = st.components.v2.component(
    "headwise_editor_library",
    js=_SHELF + Path(__file__).with_name("bundle.js").read_text(encoding="utf-8"),
)
# Not isolated: in a shadow root, selections and input methods rest on workarounds in some browsers.
_EDITOR = st.components.v2.component(
    "headwise_editor",
    html='<div class="hw-editor"></div>',
    js=f"""{_SHELF}
const latest = new WeakMap();
export default async function (component) {{
  latest.set(component.parentElement, component);
  const show = await globalThis.headwiseEditor.taken;
  if (latest.get(component.parentElement) === component) return show(component);
}}
""",
    isolate_styles=False,
)

# CodeMirror's own words that a person can meet here, and the keys of ours.
_PHRASES = {
    "Find": "find",
    "Replace": "replacement",
    "next": "next",
    "previous": "previous",
    "all": "all",
    "match case": "match_case",
    "regexp": "regexp",
    "by word": "by_word",
    "replace": "replace",
    "replace all": "replace_all",
    "close": "close",
    "current match": "current_match",
    "on line": "on_line",
    "replaced match on line $": "replaced_one",
    "replaced $ matches": "replaced_many",
    "Go to line": "go_to_line",
    "go": "go",
}


@dataclass(frozen=True)
class Mark:
    """A place in the text and what is to be said of it.

    Lines count from 1 and columns from 0, end_col exclusive, as in `ast`; but columns count characters of the line, as
    `str` does, where `ast` counts bytes of its UTF-8. Places outside the text are moved into it. `message` is plain
    text; its severity is put in words before it.
    """

    line: int
    col: int
    end_line: int
    end_col: int
    severity: Literal["proved", "likely", "error"]
    message: str


@dataclass(frozen=True)
class Edited:
    """The text that stands in the editor, the text that was last asked to be run, and whether it was asked just now.

    `submitted` stays until the next time; what is shown of it should be derived from it. `run` is true once.
    """

    text: str
    submitted: str | None
    run: bool


def editor(
    source: str,
    *,
    key: str,
    draft: str | None = None,
    findings: Sequence[Mark] = (),
    read_only: bool = False,
    height: int = 420,
    keep: Callable[[str], None] | None = None,
) -> Edited:
    """Draw the editor, which starts with `source`.

    `draft` names the place in the browser's storage where the text outlives a reload; None keeps none. `findings` are
    places in the text that was submitted, or, while nothing was, in the text that stands there; what was typed since
    is allowed for. `height` is in pixels, of which a low window gets three quarters of its own. `keep` is called with
    each text that the browser tells of.

    Typing reruns a fragment of its own, and so neither the page nor a run that is under way; Ctrl/⌘+Enter reruns the
    page. Not for use inside `st.form`.
    """
    source = _plain(source)
    state.put(f"{key}_text", _plain(state.get(f"{key}_text", source)))
    run = state.get(f"{key}_asked", False)
    state.put(f"{key}_asked", False)
    with st.container(gap=None):
        _LIBRARY(key=f"{key}_library")
        _drawn(source, key, draft, [_worded(mark) for mark in findings], read_only, height, keep)
    return Edited(state.get(f"{key}_text", source), submitted(key), run)


def submitted(key: str) -> str | None:
    """The text that was last asked to be run, also before the editor is drawn; None when none was."""
    text = state.get(f"{key}_submitted", _NOTHING)
    return None if text == _NOTHING else text


def submit(key: str) -> None:
    """Ask for the text to be run, as Ctrl/⌘+Enter does. A callback, for a button."""
    _take(key, "draft")  # it may come with the click, and its own callback after this one
    state.put(f"{key}_submitted", state.get(f"{key}_text", ""))
    state.put(f"{key}_asked", True)


def replace(key: str, text: str) -> None:
    """Put another text there, such as the starter, and forget what was submitted. A callback. Undo takes it back."""
    _take(key, "draft")
    state.put(f"{key}_text", _plain(text))
    state.put(f"{key}_at", state.get(f"{key}_at", 0) + 1)
    state.forget(f"{key}_submitted")


def focus(key: str, line: int) -> None:
    """Move the cursor to a line, counted from 1, and show it. A callback."""
    state.put(f"{key}_focus", (line, state.get(f"{key}_focus", (1, 0))[1] + 1))


@st.fragment
def _drawn(
    source: str,
    key: str,
    draft: str | None,
    marks: list[dict],
    read_only: bool,
    height: int,
    keep: Callable[[str], None] | None,
) -> None:
    text = state.get(f"{key}_text", source)
    asked = submitted(key)
    _EDITOR(
        key=key,
        data={
            "key": key,
            "text": text,
            "at": state.get(f"{key}_at", 0),
            "starter": source,
            "draft": draft,
            "limit": LIMIT,
            "marks": marks,
            "marked": text if asked is None else asked,
            "focus": state.get(f"{key}_focus", (1, 0)),
            "read_only": read_only,
            "height": height,
            "words": {
                "label": t("editor.label"),
                "hint": t("editor.hint_read_only") if read_only else t("editor.hint"),
                "leave": t("editor.leave"),
                "too_long": t("editor.too_long", limit=LIMIT),
            },
            "phrases": {phrase: t(f"editor.phrase.{name}") for phrase, name in _PHRASES.items()},
        },
        on_draft_change=lambda: _take(key, "draft"),
        on_run_change=lambda: _run(key),
    )
    if keep:
        keep(state.get(f"{key}_text", source))
    if state.get(f"{key}_asked", False):
        st.rerun()


def _run(key: str) -> None:
    _take(key, "run")
    submit(key)


def _take(key: str, name: str) -> None:
    """Take in what the browser sends, unless it is older than what is here."""
    sent = state.trigger(key, name)
    if not isinstance(sent, dict):
        return
    text, at = sent.get("text"), sent.get("at")
    if not isinstance(text, str) or len(text) > LIMIT or type(at) is not int or not 0 <= at < _AT_MOST:
        return
    if at >= state.get(f"{key}_at", 0):
        state.put(f"{key}_text", text)
        state.put(f"{key}_at", at)


def _worded(mark: Mark) -> dict:
    label = t(f"editor.{mark.severity}", line=mark.line, message=mark.message)
    return asdict(mark) | {"label": label}


def _plain(text: str) -> str:
    """Text with the line ends that the editor writes."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
