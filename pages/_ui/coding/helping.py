"""What helps: the task in words, hints one after the other, the solution, what an interviewer asks next."""

from collections.abc import Collection

import streamlit as st

from core import pitfalls
from pages._ui import state
from pages._ui.coding.choosing import Room
from pages._ui.coding.judging import named, tell
from pages._ui.coding.verdict import unmarked, ways
from pages._ui.i18n import lang, t
from pages._ui.text import bullets, write

ASKED, SHOWN = "asked", "shown"


def statement(room: Room) -> None:
    """What is to be written."""
    write("\n\n".join(paragraph[lang()] for paragraph in room.problem.statement))


def rules(room: Room, unfolded: bool) -> None:
    """What counts as right, and an example."""
    with st.expander(t("coding.rules"), expanded=unfolded):
        bullets(rule[lang()] for rule in room.problem.rules)
    with st.expander(t("coding.example")):
        st.code(room.problem.example.rstrip(), "python", wrap_lines=True)


def broken(room: Room, found: Collection[str]) -> None:
    """What there is to know of a task to repair, and its mistakes for whoever asks; in full, where the verdict has not
    `found` them already."""
    if room.task is None:
        return
    count = len(room.task.entries)
    with st.container(border=True, gap="xsmall"):
        write(t("coding.debug.one") if count == 1 else t("coding.debug.two"))
        if not named(room):
            st.button(t("coding.debug.tell"), key="coding_tell", on_click=tell, args=(room,))
            return
        for entry in room.task.entries:
            write(f"**{unmarked(entry.title[lang()])}**")
            st.html(f'<span class="hw-tag hw-pitfall">{entry.id}</span>')
            if entry.id not in found:
                _mistake(entry)


def _mistake(entry: pitfalls.Entry) -> None:
    write(f"{entry.why[lang()]} {entry.symptom[lang()]}")
    write(f"**{t('coding.repair')}** {entry.repair[lang()]}")
    ways(entry)


def hints(room: Room) -> None:
    """The hints that were asked for, a button for the next one, and the way to the solution."""
    key = f"{room.key}_hints"
    last = len(room.problem.hints)
    seen = state.whole_number(key, 0, last, 0)
    with st.container(border=True, gap="small"):
        st.html(f"<strong>{t('coding.hints')}</strong>")
        for number, hint in enumerate(room.problem.hints[:seen], 1):
            write(f"**{number}.** {hint[lang()]}")
        with st.container(horizontal=True, gap="small"):
            if seen < last:
                label = t("coding.hint", number=seen + 1, last=last)
                st.button(
                    label, key="coding_hint", icon=":material/lightbulb:", on_click=state.put, args=(key, seen + 1)
                )
            _solution_buttons(f"{room.key}_solution")


def _solution_buttons(key: str) -> None:
    now = state.choice(key, ("", ASKED, SHOWN), "")
    if now == ASKED:
        st.markdown(t("coding.solution.sure"))
        st.button(t("coding.solution.yes"), key="coding_solution_yes", on_click=state.put, args=(key, SHOWN))
        st.button(
            t("coding.solution.no"), key="coding_solution_no", type="tertiary", on_click=state.put, args=(key, "")
        )
    elif now == SHOWN:
        st.button(t("coding.solution.hide"), key="coding_solution_no", on_click=state.put, args=(key, ""))
    else:
        st.button(t("coding.solution"), key="coding_solution", on_click=state.put, args=(key, ASKED))


def solution(room: Room) -> None:
    """The solution, in every style there is, once it was asked for."""
    if room.task is not None or state.get(f"{room.key}_solution", "") != SHOWN:
        return
    names = (room.problem.reference, *room.problem.also)
    with st.container(border=True):
        st.html(f"<strong>{t('coding.solution')}</strong>")
        for tab, name in zip(st.tabs(names), names, strict=True):
            tab.code(pitfalls.reference(name).source, "python", line_numbers=True, wrap_lines=True)


def follow_ups(room: Room) -> None:
    """What an interviewer asks next, with answers to unfold."""
    st.subheader(t("coding.follow_ups"), anchor=False)
    for asked in room.problem.follow_ups:
        with st.expander(_label(asked.question[lang()])):
            write(asked.answer[lang()])
            if source := asked.source:
                st.caption(t("quiz.source", title=source.title, url=source.url, place=source.place))


def _label(question: str) -> str:
    return question.replace("[[", "`(").replace("]]", ")`").replace("|", ", ")
