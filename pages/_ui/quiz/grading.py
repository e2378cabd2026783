"""How an answer was graded, when it comes back, and how a person changes either."""

from datetime import UTC, datetime

import streamlit as st

from core.errors import Unavailable
from core.progress import Rating
from core.quiz import Question
from pages._ui import cache, chrome, state
from pages._ui.i18n import t
from pages._ui.quiz import record

GRADES = {"again": Rating.Again, "hard": Rating.Hard, "good": Rating.Good, "easy": Rating.Easy}
PACE, RETENTION = "pace", "desired_retention"
_DEFAULTS = {PACE: 1.0, RETENTION: 0.9}
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def show(question: Question) -> None:
    """The grade of the answer, to be changed, and when the question comes back."""
    if error := record.unsaved():
        chrome.explain(error)
        return
    recorded = record.recorded(question.id)
    if recorded is None:
        return
    names = {name: t(f"quiz.grade.{name}") for name in GRADES}
    key = f"quiz_grade_{question.id}"
    state.put(key, next(name for name, rating in GRADES.items() if rating == recorded.rating))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.segmented_control(
            t("quiz.grade"),
            GRADES,
            format_func=names.__getitem__,
            key=key,
            required=True,
            on_change=lambda: record.regrade(question.id, GRADES[state.choice(key, list(GRADES), "good")]),
            help=t("quiz.grade.help"),
        )
        st.caption(t("quiz.comes_back", when=until(recorded.review.due, datetime.now(UTC))))


def until(due: datetime, now: datetime) -> str:
    """When something is due, in words."""
    seconds = (due - now).total_seconds()
    if seconds <= _MINUTE:
        return t("quiz.in.now")
    for unit, size, most in (("minutes", _MINUTE, _HOUR), ("hours", _HOUR, 2 * _DAY), ("days", _DAY, float("inf"))):
        if seconds < most:
            return t(f"quiz.in.{unit}", count=max(1, round(seconds / size)))
    raise AssertionError


def settings() -> None:
    """How fast an answer has to be, and how well things are to be kept: a person's own choice."""
    with st.popover("", icon=":material/tune:", help=t("quiz.settings")):
        for name, low, high, step in ((PACE, 0.5, 3.0, 0.25), (RETENTION, 0.8, 0.97, 0.01)):
            key = f"quiz_set_{name}"
            if state.get(key, 0.0) == 0.0:
                state.put(key, min(max(_setting(name), low), high))
            st.slider(
                t(f"quiz.set.{name}"),
                low,
                high,
                step=step,
                key=key,
                persist_state="session",
                help=t(f"quiz.set.{name}.help"),
                on_change=_set,
                args=(name, key),
            )


def _setting(name: str) -> float:
    try:
        value = cache.store().setting(name, _DEFAULTS[name])
    except Unavailable:  # said where an answer cannot be kept; the questions are asked all the same
        return _DEFAULTS[name]
    return float(value) if isinstance(value, (int, float)) else _DEFAULTS[name]


def _set(name: str, key: str) -> None:
    try:
        cache.store().set_setting(name, state.get(key, _DEFAULTS[name]))
    except Unavailable as error:
        state.put(state.QUIZ_UNSAVED, error)
