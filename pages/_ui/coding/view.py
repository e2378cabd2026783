"""The room as a whole: what to do on top, the editor, and beside it what the judge says and what helps."""

import streamlit as st

from core.errors import Explained
from pages._ui import cache, chrome, editor, state
from pages._ui.coding import helping, judging, keeping, steps, verdict
from pages._ui.coding.choosing import Room, choose, follow_link
from pages._ui.i18n import t

HEIGHT = 480


def room() -> None:
    """Choose a problem, write or repair it, run it, see what comes of it."""
    cache.judge()
    follow_link()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = choose()
        st.button(
            t("coding.run"),
            key="coding_run",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Ctrl+Enter",
            on_click=editor.submit,
            args=(chosen.key,),
        )
    helping.statement(chosen)
    keeping.restore(chosen)
    left, right = st.columns([11, 9], gap="small")
    with right:
        place = st.empty()
    asked = editor.submitted(chosen.key)
    judged = None if asked is None else judging.known(chosen, asked)
    fresh = asked is not None and judged is None
    if asked is not None and judged is None:
        with place, st.spinner(t("coding.judging"), show_time=True):
            judged = judging.judge(chosen, asked)
        keeping.submission(chosen, judged)
    with left:
        edited = editor.editor(
            chosen.starter,
            key=chosen.key,
            draft=chosen.draft,
            findings=judging.marks(chosen, judged),
            height=HEIGHT,
            keep=lambda text: keeping.draft(chosen, text),
        )
        error = state.get(state.CODING_UNSAVED, None)
        if isinstance(error, Explained):
            chrome.notices([error])
        _reset(chosen, edited.text)
    if edited.run and not fresh:  # the same text once more
        judging.forget(chosen)
        st.rerun()
    if judged is not None:
        with place.container():
            verdict.show(chosen, judged, changed=edited.text != judged.source)
    with right:
        found = [] if judged is None else [finding["pitfall"] for finding in judged.verdict["findings"]]
        helping.broken(chosen, found)
        if chosen.task is None:
            helping.hints(chosen)
        helping.rules(chosen, unfolded=judged is None)
    if judged is not None:
        steps.own_run(chosen, judged)
    helping.solution(chosen)
    if chosen.task is None:
        helping.follow_ups(chosen)


def _reset(chosen: Room, text: str) -> None:
    """Back to the starter, and back again."""
    key = f"{chosen.key}_before"
    if text != chosen.starter:
        st.button(
            t("coding.reset"),
            key="coding_reset",
            type="tertiary",
            icon=":material/restart_alt:",
            on_click=_start_over,
            args=(chosen,),
        )
    elif before := str(state.get(key, "")):
        st.button(
            t("coding.restore"),
            key="coding_restore",
            type="tertiary",
            icon=":material/undo:",
            on_click=editor.replace,
            args=(chosen.key, before),
        )


def _start_over(chosen: Room) -> None:
    state.put(f"{chosen.key}_before", state.get(f"{chosen.key}_text", ""))
    editor.replace(chosen.key, chosen.starter)
