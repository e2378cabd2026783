"""The end of a topic: how it went, the wrong ones to look at or to try again, and the way to what comes next."""

from collections.abc import Sequence

import streamlit as st

from core.quiz import Bank, Question
from pages._ui import state
from pages._ui.i18n import lang, t
from pages._ui.quiz import answers
from pages._ui.quiz.choosing import chosen, go, topic_name
from pages._ui.quiz.sitting import plan


def show(bank: Bank, questions: Sequence[Question]) -> None:
    """How it went, the wrong ones to look at or to try again, and the way to what comes next."""
    topic, level = chosen(bank)
    wrong = answers.sitting().wrong(questions)
    with st.container(border=True):
        st.subheader(
            t("quiz.summary", topic=topic_name(bank, topic), right=len(questions) - len(wrong), last=len(questions)),
            anchor=False,
        )
        if wrong:
            st.caption(t("quiz.summary.wrong"))
        with st.container(key="quiz_wrong", gap="xsmall"):
            for question in wrong:
                st.button(
                    answers.label(question.prompt[lang()]),
                    key=f"quiz_look_{question.id}",
                    width="stretch",
                    wrap=True,
                    on_click=go,
                    args=(question,),
                )
        with st.container(horizontal=True):
            following = _next_topic(bank, topic, level)
            if wrong:
                _again_button("quiz.retry", wrong, first=True)
            if following:
                st.button(
                    t("quiz.next_topic", topic=topic_name(bank, following)),
                    key="quiz_next_topic",
                    type="secondary" if wrong else "primary",
                    shortcut=None if wrong else "Enter",
                    on_click=state.put,
                    args=(state.QUIZ_TOPIC, following),
                )
            _again_button("quiz.restart", questions, first=not (wrong or following))


def _again_button(key: str, questions: Sequence[Question], first: bool) -> None:
    st.button(
        t(key, count=len(questions)),
        key=key.replace(".", "_"),
        type="primary" if first else "tertiary",
        shortcut="Enter" if first else None,
        on_click=_again,
        args=(questions,),
    )


def _again(questions: Sequence[Question]) -> None:
    state.put(state.QUIZ_SITTING, answers.sitting().again(question.id for question in questions))
    go(questions[0])


def _next_topic(bank: Bank, topic: str, level: str) -> str | None:
    """The topic after `topic` that has questions of this level still to be answered."""
    topics = [one.id for one in bank.topics]
    start = topics.index(topic) + 1 if topic in topics else 0
    ahead = [*topics[start:], *topics[:start]]
    return next((one for one in ahead if answers.sitting().next_open(plan(bank, one, level))), None)
