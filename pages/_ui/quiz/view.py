"""The quiz as it stands on the page: how far one is, the question, and why its answer is right."""

from collections.abc import Sequence

import streamlit as st

from core import pitfalls
from core.errors import BadInput
from core.quiz import Bank, Question, TypeNumber, TypeShape, TypeStrides, generators
from pages._ui import cache, chrome, links, state
from pages._ui.i18n import lang, t
from pages._ui.quiz import asking, exam, grading, head, modes, record, showing, summary
from pages._ui.quiz.choosing import choose, follow_link, go, mode
from pages._ui.text import write

WIDTH = 820  # of the question: longer lines read badly
MANY = 24  # marks fill two lines of a phone
# A shortcut for Enter takes the key from links and expanders that have the focus: give it back to them.
_ENTER = """<script>
if (!window.hwEnter) {
  window.hwEnter = true;
  window.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.closest?.("a[href], summary")) event.stopPropagation();
  }, true);
}
</script>"""


def practise(bank: Bank) -> None:
    """Choose what to practise, and answer one question after the other. `bank` has questions."""
    with st.container(width=WIDTH):
        chrome.notices(cache.store().notices)
        follow_link(bank)
        ids = choose(bank)
        if mode() == modes.EXAM:
            state.link(state.QUIZ_QUESTION, "")
            exam.show(bank)
        else:
            _round(bank, ids)
    st.html(_ENTER, unsafe_allow_javascript=True)


def _round(bank: Bank, ids: Sequence[str]) -> None:
    asked = state.get(state.QUIZ_QUESTION, "")
    current = asked if asked in ids else record.sitting().next_open(ids)
    state.put(state.QUIZ_QUESTION, current or "")
    state.link(state.QUIZ_QUESTION, "")
    if not ids:
        _nothing()
        return
    st.html(_progress(ids, current))
    question = modes.resolve(bank, current) if current else None
    if question is None:
        summary.show(bank, ids)
    else:
        _question(bank, question, ids)


def left_out(bank: Bank) -> None:
    """What is missing from the quiz because its file has faults, and where."""
    faults = (*bank.faults, *generators.FAULTS)
    if not faults:
        return
    count = len({(fault.place.path, fault.question or fault.place.line) for fault in faults})
    with st.container(width=WIDTH):
        if not bank.questions:
            st.warning(t("quiz.no_questions"), icon=":material/warning:")
        with st.expander(t("quiz.left_out", count=count), icon=":material/warning:", expanded=not bank.questions):
            for fault in faults:
                st.code(fault.text(lang()), None, wrap_lines=True)


def _nothing() -> None:
    if mode() == modes.REVIEW:
        summary.nothing_due()
        return
    st.info(t("quiz.nothing"))
    st.button(t("quiz.nothing.all"), key="quiz_all_levels", on_click=state.put, args=(state.QUIZ_LEVEL, "all"))


def _progress(ids: Sequence[str], current: str | None) -> str:
    """A mark for each question (of many: a bar), how far one is, and the score of the sitting."""
    sitting = record.sitting()
    done = sum(id_ in sitting.answers for id_ in ids)
    words = (
        t("quiz.place", place=ids.index(current) + 1, last=len(ids))
        if current
        else t("quiz.done", done=done, last=len(ids))
    )
    score = t("quiz.score", right=sitting.right, answered=sitting.answered) if sitting.answered else ""
    picture = f'<span class="hw-marks">{"".join(_mark(id_, id_ == current) for id_ in ids)}</span>'
    if len(ids) > MANY:
        picture = f'<span class="hw-bar"><b style="width: {done / len(ids):.1%}"></b></span>'
    return (
        f'<div class="hw-run"><span aria-hidden="true">{picture}</span>'
        f'<span>{words}</span><span class="hw-mute">{score}</span></div>'
    )


def _mark(question_id: str, is_current: bool) -> str:
    answer = record.sitting().answers.get(question_id)
    css, sign = ("hw-open", "") if answer is None else ("hw-right", "✓") if answer.right else ("hw-wrong", "✗")
    return f'<i class="{css}{" hw-now" if is_current else ""}">{sign}</i>'


# The question --------------------------------------------------------------------------------------------------------


def _question(bank: Bank, question: Question, ids: Sequence[str]) -> None:
    answer = record.sitting().answers.get(question.id)
    following = record.sitting().next_open(ids, after=question.id)
    with st.container(border=True):
        head.show(bank, question, answered=answer is not None)
        place = st.empty()  # of one piece: nothing of the asking stays behind while the proof runs
        if answer is None:
            record.showing(question)
            with place.container():
                asking.ask(question)
                if following:
                    st.button(t("quiz.skip"), key="quiz_skip", type="tertiary", on_click=go, args=(following,))
        else:
            place.html(showing.shown(question, answer))
    if answer is not None:
        with st.container(border=True):
            _why(question, answer.given, answer.right, following)


def fallen_into(question: Question, given: object) -> str | None:
    """The pitfall that a typed answer comes of, where it is the value of one."""
    if not isinstance(question, (TypeNumber, TypeShape, TypeStrides)):
        return None
    try:
        mistake = question.mistake(given)
    except BadInput:  # it was kept by another version
        return None
    return mistake if mistake in pitfalls.IDS else None


def _why(question: Question, given: object, right: bool, following: str | None) -> None:
    """Right or wrong, the explanation, the proof as it runs here, and the ways on."""
    css, verdict = ("hw-right", t("quiz.right")) if right else ("hw-wrong", t("quiz.wrong"))
    st.html(f'<div class="hw-verdict {css}" role="status">{verdict}</div>')
    if pitfall := fallen_into(question, given):
        title = pitfalls.entry(pitfall).title[lang()]
        write(t("quiz.fallen_into", title=title), frame="**{}**")
    write(question.explanation[lang()])
    if source := question.source:
        st.caption(t("quiz.source", title=source.title, url=source.url, place=source.place))
    proof = st.container()
    grading.show(question)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            t("quiz.next") if following else t("quiz.result"),
            key="quiz_next",
            type="primary",
            shortcut="Enter",
            on_click=go,
            args=(following,),
        )
        walk = st.empty()
    # Last, since a cold server has to import torch first: the words and the way on are there meanwhile.
    with proof:
        _proof(question)
    with walk.container():
        if question.walk:
            links.link_to("shape_walk", t("quiz.walk"), **_walk_query(question))
        for pitfall in question.pitfalls:
            label = f"{t('question.see')} {pitfalls.entry(pitfall).title[lang()]}"
            links.link_to("shape_walk", label, mistake=pitfall)


def _proof(question: Question) -> None:
    with st.spinner(t("quiz.running")):
        result = cache.proof(question)
    for run in result.runs:
        if run.output:
            st.caption(t(f"quiz.ran.{run.of}" if run.of else "quiz.ran"))
            st.code(run.output, "python", wrap_lines=True)
    for fault in result.faults:
        chrome.explain(fault)
    with st.expander(t("quiz.program")):
        st.code(question.program, "python", line_numbers=True, wrap_lines=True)
        st.caption(t("quiz.program.names"))


def _walk_query(question: Question) -> dict[str, str]:
    """The state of the Shape walk that shows what `question` asks about."""
    from pages._ui.walk.runs import LABELS, Setup

    kind = "gqa" if question.topic == "gqa" else "mha"
    named = [step for step in cache.walk(Setup(kind)) if step.name == question.walk]
    query = {state.WALK_KIND: LABELS[kind], state.WALK_MISTAKE: "none"}
    if named:
        # under GQA a name is bound again when its heads are repeated, and that is what is asked about
        query[state.WALK_STEP] = str(named[-1 if kind == "gqa" else 0].index + 1)
    return query
