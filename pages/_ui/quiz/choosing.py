"""What to practise: topic, level and question, from the link and from the row on top."""

from collections.abc import Sequence

import streamlit as st

from core.quiz import Bank, Question
from pages._ui import state
from pages._ui.i18n import lang, t
from pages._ui.quiz.sitting import ALL, plan

LEVELS = (ALL, "1", "2", "3")


def _topics(bank: Bank) -> list[str]:
    return [*(topic.id for topic in bank.topics), ALL]


def topic_name(bank: Bank, topic_id: str) -> str:
    """What a topic is called in the language of this session, the choice of all of them too."""
    return next((topic.name[lang()] for topic in bank.topics if topic.id == topic_id), t("quiz.topic.all"))


def follow_link(bank: Bank) -> None:
    """Take topic, level and question from the link; where they do not go together, the question wins."""
    topics = _topics(bank)
    state.linked(state.QUIZ_TOPIC, topics, topics[0])
    state.linked(state.QUIZ_LEVEL, LEVELS, ALL)
    ids = [question.id for question in bank.questions]
    unknown = state.unknown_in_link(state.QUIZ_QUESTION, ids)
    before = state.get(state.QUIZ_QUESTION, "")
    state.linked(state.QUIZ_QUESTION, ids, "")
    asked = bank.question(state.get(state.QUIZ_QUESTION, ""))
    if asked and asked.id != before and asked not in plan(bank, *chosen(bank)):
        state.put(state.QUIZ_TOPIC, asked.topic)
        state.put(state.QUIZ_LEVEL, ALL)
    if unknown is not None:
        name = "".join(c if c.isalnum() or c in "-_" else "·" for c in unknown[:60])
        st.warning(t("quiz.unknown", name=name), icon=":material/link_off:")


def chosen(bank: Bank) -> tuple[str, str]:
    """Topic and level, each `ALL` where every one is chosen."""
    topics = _topics(bank)
    return state.choice(state.QUIZ_TOPIC, topics, topics[0]), state.choice(state.QUIZ_LEVEL, LEVELS, ALL)


def choose(bank: Bank) -> Sequence[Question]:
    """One row: topic and level."""
    topics = {topic: topic_name(bank, topic) for topic in _topics(bank)}
    levels = {level: t("quiz.level.all") if level == ALL else level for level in LEVELS}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            t("quiz.topic"),
            list(topics),
            format_func=topics.__getitem__,
            key=state.QUIZ_TOPIC,
            persist_state="session",
            width=260,
        )
        st.segmented_control(
            t("quiz.level"),
            LEVELS,
            format_func=levels.__getitem__,
            key=state.QUIZ_LEVEL,
            required=True,
            persist_state="session",
        )
    state.link(state.QUIZ_TOPIC, next(iter(topics)))
    state.link(state.QUIZ_LEVEL, ALL)
    return plan(bank, *chosen(bank))


def go(question: Question | None) -> None:
    """On to `question`; to the summary where there is none. A callback."""
    state.put(state.QUIZ_QUESTION, question.id if question else "")
