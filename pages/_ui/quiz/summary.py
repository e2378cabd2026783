"""The end of a round: how it went, the wrong ones to look at or to try again, and the way to what comes next."""

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from core.quiz import Bank
from pages._ui import cache, state
from pages._ui.i18n import lang, t
from pages._ui.quiz import grading, modes, record
from pages._ui.quiz.choosing import chosen, go, mode, topic_name
from pages._ui.quiz.words import label


def show(bank: Bank, ids: Sequence[str]) -> None:
    """How it went, the wrong ones to look at or to try again, and the way to what comes next."""
    wrong = record.sitting().wrong(ids)
    topic, _ = chosen(bank)
    name = topic_name(bank, topic) if mode() == modes.LEARN else t(f"quiz.mode.{mode()}")
    with st.container(border=True):
        st.subheader(t("quiz.summary", topic=name, right=len(ids) - len(wrong), last=len(ids)), anchor=False)
        if wrong:
            st.caption(t("quiz.summary.wrong"))
        with st.container(key="quiz_wrong", gap="xsmall"):
            for id_ in wrong:
                question = modes.resolve(bank, id_)
                if question:
                    st.button(
                        label(question.prompt[lang()]),
                        key=f"quiz_look_{id_}",
                        width="stretch",
                        wrap=True,
                        on_click=go,
                        args=(id_,),
                    )
        with st.container(horizontal=True):
            if wrong:
                _button("quiz.retry", _again, wrong, first=True)
            if mode() == modes.LEARN:
                following = _next_topic(bank)
                if following:
                    st.button(
                        t("quiz.next_topic", topic=topic_name(bank, following)),
                        key="quiz_next_topic",
                        type="secondary" if wrong else "primary",
                        shortcut=None if wrong else "Enter",
                        on_click=state.put,
                        args=(state.QUIZ_TOPIC, following),
                    )
                _button("quiz.restart", _from_the_start, ids, first=not (wrong or following))
            else:
                _button("quiz.new_round", lambda _: modes.new_round(mode()), ids, first=not wrong)


def nothing_due() -> None:
    """There is nothing to review now; when there will be."""
    now = datetime.now(UTC)
    ahead = sorted(review.due for review in cache.store().reviews().values() if review.due > now)
    if ahead:
        st.info(t("quiz.review.next", when=grading.until(ahead[0], now)), icon=":material/event_available:")
    else:
        st.info(t("quiz.review.empty"), icon=":material/event_available:")
    st.button(t("quiz.review.learn"), key="quiz_to_learn", on_click=state.put, args=(state.QUIZ_MODE, modes.LEARN))


def _button(key: str, on_click, ids: Sequence[str], first: bool) -> None:
    st.button(
        t(key, count=len(ids)),
        key=key.replace(".", "_"),
        type="primary" if first else "tertiary",
        shortcut="Enter" if first else None,
        on_click=on_click,
        args=(ids,),
    )


def _again(ids: Sequence[str]) -> None:
    record.keep(record.sitting().again(ids))
    go(ids[0])


def _from_the_start(ids: Sequence[str]) -> None:
    modes.draw_anew()
    _again(ids)


def _next_topic(bank: Bank) -> str | None:
    """The topic after the chosen one that has questions of this level still to be answered."""
    topic, level = chosen(bank)
    topics = [one.id for one in bank.topics]
    start = topics.index(topic) + 1 if topic in topics else 0
    ahead = [*topics[start:], *topics[:start]]
    return next((one for one in ahead if record.sitting().next_open(modes.learn(bank, one, level))), None)
