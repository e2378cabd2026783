"""An exam: questions drawn over all topics, a clock, and the result at the end. It goes on after a reload."""

import html
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import streamlit as st
from pydantic import AwareDatetime, TypeAdapter, ValidationError

from core.errors import Unavailable
from core.quiz import Bank
from pages._ui import cache, chrome, state
from pages._ui.i18n import lang, t
from pages._ui.quiz import asking, head, modes, record
from pages._ui.quiz.choosing import go, look, topic_name
from pages._ui.quiz.words import label
from pages._ui.text import table

MINUTES = 25
DRAFT = "quiz-exam"


@dataclass(frozen=True)
class Exam:
    """Which questions, since when; once it is over, when it ended, and of each that was answered whether rightly."""

    ids: tuple[str, ...]
    started: AwareDatetime
    finished: AwareDatetime | None = None
    result: dict[str, bool] = field(default_factory=dict)

    @property
    def ends(self) -> datetime:
        """When its time is up."""
        return self.started + timedelta(minutes=MINUTES)

    def is_over(self, now: datetime) -> bool:
        """Whether it was handed in, or its time is up."""
        return self.finished is not None or now >= self.ends


_FORM: TypeAdapter[Exam] = TypeAdapter(Exam)


def show(bank: Bank) -> None:
    """The exam that is on, its result when it is over, or the way to begin one."""
    exam = _current(bank)
    if exam is None:
        _begin(bank)
        return
    open_ids = [id_ for id_ in exam.ids if id_ not in record.sitting().answers]
    if exam.is_over(datetime.now(UTC)) or not open_ids:
        _hand_in(exam)
        _result(bank, state.get(state.QUIZ_EXAM, exam))
        return
    asked = state.get(state.QUIZ_QUESTION, "")
    current = asked if asked in open_ids else open_ids[0]
    state.put(state.QUIZ_QUESTION, current)
    _clock(exam, len(exam.ids) - len(open_ids))
    question = modes.resolve(bank, current)
    assert question is not None  # `_current` has seen to it
    with st.container(border=True):
        head.show(bank, question)
        record.showing(question)
        asking.ask(question)
    with st.container(horizontal=True):
        later = [*open_ids[open_ids.index(current) + 1 :], *open_ids[: open_ids.index(current)]]
        if later:
            st.button(t("quiz.exam.later"), key="quiz_skip", type="tertiary", on_click=go, args=(later[0],))
        st.button(t("quiz.exam.hand_in"), key="quiz_hand_in", type="tertiary", on_click=_hand_in, args=(exam,))
    if error := record.unsaved():
        chrome.explain(error)


def _begin(bank: Bank) -> None:
    with st.container(border=True):
        st.subheader(t("quiz.exam.title"), anchor=False)
        st.markdown(t("quiz.exam.rules", count=modes.ROUND, minutes=MINUTES))
        st.button(
            t("quiz.exam.begin"), key="quiz_begin", type="primary", shortcut="Enter", on_click=_start, args=(bank,)
        )


def _start(bank: Bank) -> None:
    rng = random.Random(random.SystemRandom().random())
    exam = Exam(modes.draw_exam(bank, rng), datetime.now(UTC))
    record.keep(record.sitting().again(exam.ids))
    _save(exam)
    go(None)


def _hand_in(exam: Exam) -> None:
    """End it: as a callback, or when its last question is answered or its time is up. Later answers change nothing."""
    if exam.finished is None:
        answers = record.sitting().answers
        result = {id_: answers[id_].right for id_ in exam.ids if id_ in answers}
        _save(replace(exam, finished=min(datetime.now(UTC), exam.ends), result=result))


def _save(exam: Exam | None) -> None:
    state.put(state.QUIZ_EXAM, exam)
    try:
        cache.store().save_draft(DRAFT, _FORM.dump_json(exam).decode() if exam else "")
    except Unavailable as error:
        state.put(state.QUIZ_UNSAVED, error)


def _current(bank: Bank) -> Exam | None:
    """The exam of this session, or the one that another session left behind."""
    if isinstance(exam := state.get(state.QUIZ_EXAM, None), Exam):
        return exam
    try:
        exam = _FORM.validate_json(cache.store().draft(DRAFT) or "")
    except (ValidationError, Unavailable):  # there is none, or it cannot be read any more
        return None
    ids = tuple(id_ for id_ in exam.ids if modes.topic_of(bank, id_))  # questions may have gone since
    if not ids:
        return None
    exam = replace(exam, ids=ids)
    record.take_up(ids if exam.finished is None else list(exam.result), exam.started)
    state.put(state.QUIZ_EXAM, exam)
    return exam


@st.fragment(run_every=1.0)
def _clock(exam: Exam, done: int) -> None:
    left = int((exam.ends - datetime.now(UTC)).total_seconds())
    if left < 0:
        st.rerun()
    place = t("quiz.place", place=done + 1, last=len(exam.ids))
    clock = t("quiz.exam.left", minutes=left // 60, seconds=f"{left % 60:02d}")
    st.html(
        f'<div class="hw-run">{_bar(done / len(exam.ids))}<span>{place}</span>'
        f'<span class="hw-clock" role="timer">{clock}</span></div>'
    )


# The result ----------------------------------------------------------------------------------------------------------


def _result(bank: Bank, exam: Exam) -> None:
    right = [id_ for id_ in exam.ids if exam.result.get(id_)]
    spent = ((exam.finished or exam.ends) - exam.started).total_seconds()
    with st.container(border=True):
        minutes, seconds = divmod(int(spent), 60)
        st.subheader(t("quiz.exam.result", right=len(right), last=len(exam.ids)), anchor=False)
        st.caption(t("quiz.exam.spent", minutes=minutes, seconds=seconds, most=MINUTES))
        st.html(_by_topic(bank, exam.ids, right))
        st.caption(t("quiz.exam.look"))
        with st.container(key="quiz_wrong", gap="xsmall"):
            for id_ in exam.ids:
                question = modes.resolve(bank, id_)
                if question:
                    icon = ":material/check:" if id_ in right else ":material/close:" if id_ in exam.result else None
                    st.button(
                        label(question.prompt[lang()]),
                        key=f"quiz_look_{id_}",
                        icon=icon or ":material/remove:",
                        width="stretch",
                        wrap=True,
                        on_click=look,
                        args=(id_,),
                    )
        st.button(
            t("quiz.exam.another"), key="quiz_another", type="primary", shortcut="Enter", on_click=_save, args=(None,)
        )


def _by_topic(bank: Bank, ids: Sequence[str], right: Sequence[str]) -> str:
    asked = Counter(modes.topic_of(bank, id_) for id_ in ids)
    known = Counter(modes.topic_of(bank, id_) for id_ in right)
    order = [topic.id for topic in bank.topics if topic.id in asked]
    rows = [
        (
            html.escape(topic_name(bank, topic)),
            f"{known[topic]}\u00a0/\u00a0{asked[topic]}",
            _bar(known[topic] / asked[topic]),
        )
        for topic in order
    ]
    return table((t("quiz.topic"), f'<span class="hw-nowrap">{t("quiz.exam.right")}</span>', ""), rows)


def _bar(share: float) -> str:
    return f'<span class="hw-bar" aria-hidden="true"><b style="width: {share:.0%}"></b></span>'
