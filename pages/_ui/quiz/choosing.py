"""What to practise: mode, topic, level, pitfall and question, from the link and from the row on top."""

from collections.abc import Sequence

import streamlit as st

from core import pitfalls
from core.quiz import Bank
from pages._ui import state
from pages._ui.i18n import lang, t
from pages._ui.quiz import grading, modes
from pages._ui.quiz.modes import EXAM, LEARN, MODES, REVIEW, WEAK
from pages._ui.quiz.sitting import ALL

LEVELS = (ALL, "1", "2", "3")


def _topics(bank: Bank) -> list[str]:
    return [*(topic.id for topic in bank.topics), ALL]


def topic_name(bank: Bank, topic_id: str) -> str:
    """What a topic is called in the language of this session, the choice of all of them too."""
    return next((topic.name[lang()] for topic in bank.topics if topic.id == topic_id), t("quiz.topic.all"))


def follow_link(bank: Bank) -> None:
    """Take mode, topic, level, pitfall and question from the link; where they do not go together, the question wins."""
    topics = _topics(bank)
    state.linked(state.QUIZ_MODE, MODES, LEARN)
    state.linked(state.QUIZ_TOPIC, topics, topics[0])
    state.linked(state.QUIZ_LEVEL, LEVELS, ALL)
    state.linked(state.QUIZ_PITFALL, list(pitfalls.IDS), "")
    named = state.new_in_link(state.QUIZ_QUESTION)
    question = modes.resolve(bank, named) if named else None
    if question and question.id not in _plan(bank):
        modes.draw_as(question.id)
        state.put(state.QUIZ_MODE, LEARN)
        if question.id not in _plan(bank):
            state.put(state.QUIZ_TOPIC, question.topic)
            state.put(state.QUIZ_LEVEL, ALL)
    if question:
        state.put(state.QUIZ_QUESTION, question.id)
    elif named is not None:
        name = "".join(c if c.isalnum() or c in "-_" else "·" for c in named[:60])
        st.warning(t("quiz.unknown", name=name), icon=":material/link_off:")


def mode() -> str:
    """The mode that is chosen."""
    return state.choice(state.QUIZ_MODE, MODES, LEARN)


def chosen(bank: Bank) -> tuple[str, str]:
    """Topic and level, each `ALL` where every one is chosen."""
    topics = _topics(bank)
    return state.choice(state.QUIZ_TOPIC, topics, topics[0]), state.choice(state.QUIZ_LEVEL, LEVELS, ALL)


def _plan(bank: Bank) -> Sequence[str]:
    """The questions of the mode; an exam keeps its own."""
    if mode() == REVIEW:
        return modes.review(bank)
    if mode() == WEAK:
        asked = list(modes.pitfalls(bank))
        return modes.weak(bank, state.choice(state.QUIZ_PITFALL, asked, asked[0])) if asked else ()
    return modes.learn(bank, *chosen(bank)) if mode() == LEARN else ()


def choose(bank: Bank) -> Sequence[str]:
    """One row: the mode and what it is about. The ids of its questions, none of an exam."""
    names = {one: t(f"quiz.mode.{one}") for one in MODES}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            t("quiz.mode"),
            MODES,
            format_func=names.__getitem__,
            key=state.QUIZ_MODE,
            required=True,
            persist_state="session",
            on_change=modes.enter,
        )
        if mode() == LEARN:
            _topic_and_level(bank)
        elif mode() == WEAK:
            _pitfall(bank)
        grading.settings()
    state.link(state.QUIZ_MODE, LEARN)
    state.link(state.QUIZ_TOPIC, _topics(bank)[0])
    state.link(state.QUIZ_LEVEL, ALL)
    state.link(state.QUIZ_PITFALL, "")
    return _plan(bank) if mode() != EXAM else ()


def _topic_and_level(bank: Bank) -> None:
    topics = {topic: topic_name(bank, topic) for topic in _topics(bank)}
    levels = {level: t("quiz.level.all") if level == ALL else level for level in LEVELS}
    st.selectbox(
        t("quiz.topic"),
        list(topics),
        format_func=topics.__getitem__,
        key=state.QUIZ_TOPIC,
        persist_state="session",
        width=230,
    )
    st.segmented_control(
        t("quiz.level"),
        LEVELS,
        format_func=levels.__getitem__,
        key=state.QUIZ_LEVEL,
        required=True,
        persist_state="session",
    )


def _pitfall(bank: Bank) -> None:
    made = modes.pitfalls(bank)
    if state.get(state.QUIZ_PITFALL, "") not in made:
        state.put(state.QUIZ_PITFALL, next(iter(made)))

    names = {pitfall: pitfalls.entry(pitfall).title[lang()].replace("`", "") for pitfall in made}
    names = {one: t("quiz.pitfall.made", title=names[one], count=n) if n else names[one] for one, n in made.items()}
    st.selectbox(
        t("quiz.pitfall"),
        list(made),
        format_func=names.__getitem__,
        key=state.QUIZ_PITFALL,
        persist_state="session",
        width=340,
    )


def go(question_id: str | None) -> None:
    """On to a question; to the summary where there is none. A callback."""
    state.put(state.QUIZ_QUESTION, question_id or "")


def look(question_id: str) -> None:
    """On to a question with its answer and its proof, whatever the mode was. A callback."""
    modes.draw_as(question_id)
    state.put(state.QUIZ_MODE, LEARN)
    state.put(state.QUIZ_TOPIC, ALL)
    state.put(state.QUIZ_LEVEL, ALL)
    go(question_id)
