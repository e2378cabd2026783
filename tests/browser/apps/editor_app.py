"""An editor and all that a page does with one, for the tests beside it. There is no judge: it marks each `wrong`."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import streamlit as st

from pages._ui import editor, state
from pages._ui.i18n import from_locale

STARTER = "def attend(q, k, v):\n    pass\n"
KEY, DRAFT = "room", "headwise:draft:test"
SEVERITIES = ("proved", "likely", "error")


def marks(text: str) -> list[editor.Mark]:
    """A mark at each `wrong`, its severity in turn; the message must be shown as it is."""
    found: list[editor.Mark] = []
    for number, line in enumerate(text.splitlines(), 1):
        for start in (at for at in range(len(line)) if line.startswith("wrong", at)):
            severity = SEVERITIES[len(found) % 3]
            found.append(editor.Mark(number, start, number, start + 5, severity, f"<b>{severity}</b> at {start}"))
    return found


def press() -> None:
    state.put("presses", state.get("presses", 0) + 1)
    editor.submit(KEY)


def room() -> None:
    st.title("Room")
    asked = editor.submitted(KEY)
    found = [] if asked is None else marks(asked)
    edited = editor.editor(STARTER, key=KEY, draft=DRAFT, findings=found)
    if edited.run:
        state.put("runs", state.get("runs", 0) + 1)
        time.sleep(0.5)  # as a judge does
    st.button("Run", shortcut="Ctrl+Enter", on_click=press)
    st.button("Reset", on_click=editor.replace, args=(KEY, STARTER))
    st.button("Line 3", on_click=editor.focus, args=(KEY, 3))
    if st.button("Key", shortcut="x"):
        state.put("keys", state.get("keys", 0) + 1)
    st.text(", ".join(f"{name}: {state.get(name, 0)}" for name in ("runs", "presses", "keys")))
    st.code(repr(edited.text), language=None)
    st.code(repr(edited.submitted), language=None)


def other() -> None:
    st.title("Other")


st.set_page_config(layout="wide")
state.put(state.LANG, from_locale(st.context.locale))
st.navigation([st.Page(room, url_path="room", default=True), st.Page(other, url_path="other")]).run()
