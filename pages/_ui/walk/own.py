"""The walk of a person's own code: alone, or beside the reference, the step at which it departs marked.

The code is the draft of the coding room. It only ever runs in the judge's sandbox.
"""

from functools import partial

import streamlit as st

from core.errors import Explained
from core.judge.problems import problems
from core.trace import Step
from pages._ui import cache, chrome, links, state
from pages._ui.coding import choosing
from pages._ui.i18n import lang, t
from pages._ui.walk import parts, view
from pages._ui.walk.mistake_view import one_side
from pages._ui.walk.owned import LIMITS, Setup, Walked, sizes_of
from pages._ui.walk.step_map import pair_map
from pages._ui.walk.stepper import stepped

OURS, OWN = SOURCES = ("ours", "own")


def source_choice() -> str:
    """Whose code is walked through."""
    state.linked(state.WALK_SOURCE, SOURCES, OURS)
    st.segmented_control(
        t("walk.source"),
        SOURCES,
        format_func=lambda source: t(f"walk.source.{source}"),
        key=state.WALK_SOURCE,
        required=True,
        label_visibility="collapsed",
        on_change=state.forget,
        args=(state.WALK_STEP,),
        persist_state="session",
    )
    state.link(state.WALK_SOURCE, OURS)
    chosen = state.choice(state.WALK_SOURCE, SOURCES, OURS)
    if chosen == OURS:
        state.link(state.CODING_PROBLEM, state.get(state.CODING_PROBLEM, ""))  # out of the link
    return chosen


def setup_choice() -> Setup:
    """The problem, whose draft is walked through, and the sizes that it has. Draws into the row that is open."""
    titles = {one.id: one.title[lang()] for one in problems()}
    ids = list(titles)
    state.linked(state.CODING_PROBLEM, ids, ids[0])
    st.selectbox(
        t("coding.problem"),
        ids,
        format_func=titles.__getitem__,
        key=state.CODING_PROBLEM,
        on_change=state.forget,
        args=(state.WALK_STEP,),
        persist_state="session",
        width=250,
    )
    state.link(state.CODING_PROBLEM, "")
    chosen = state.choice(state.CODING_PROBLEM, ids, ids[0])
    sizes = view.sizes_choice(sizes_of(chosen), LIMITS)
    return Setup(chosen, choosing.written(chosen), tuple(sizes.items()))


def page(setup: Setup) -> None:
    """The walk of a draft; where there is none, the way to write one."""
    room = partial(links.link_to, "coding_room", t("walk.own.write"), problem=setup.problem)
    if not setup.source:
        st.info(t("walk.own.nothing"), icon=":material/edit_note:")
        room()
        return
    try:
        walked = _load(setup)
    except Explained as error:
        chrome.explain(error)
        room()
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(t("walk.own.run"), width="stretch")
        room()
    _stepped(walked, chooses=walked.reference is not None)


def below_verdict(problem_id: str, source: str) -> None:
    """The code that was judged last beside the reference, on the usual sizes."""
    try:
        walked = _load(Setup(problem_id, source))
    except Explained as error:
        chrome.explain(error)
        return
    st.caption(t("walk.own.run"))
    _stepped(walked, chooses=False)


def _load(setup: Setup) -> Walked:
    with st.spinner(t("coding.judging"), show_time=True):
        walked = cache.own_walk(setup)
    if state.get(state.WALK_OF, setup) != setup:
        state.forget(state.WALK_STEP)  # another text or other sizes: again from where it departs
    state.put(state.WALK_OF, setup)
    return walked


def _stepped(walked: Walked, *, chooses: bool) -> None:
    """All steps. With `chooses`, a person chooses whether the reference is drawn beside them; else it is, if there is
    one.
    """
    _ended(walked)

    def choices() -> None:
        view.colour_choice()
        if chooses:
            st.toggle(t("walk.own.beside"), key=state.WALK_BESIDE, bind="query-params")

    def draw(number: int) -> None:
        both = state.get(state.WALK_BESIDE, False) if chooses else walked.reference is not None
        _where(walked, number - 1)
        if both:
            compare(walked, number)
        else:
            view.walk(walked.own, number, walked.at)

    stepped(draw, last=len(walked.own), start=1 if walked.at is None else walked.at + 1, beside=choices)


def _ended(walked: Walked) -> None:
    """What ended the run, where that was no step."""
    error, at = walked.own.error, walked.own.error_source
    if walked.reference is None:
        st.caption(t("walk.own.no_roles"))
    if error is not None and walked.own[-1].error is None:
        st.warning(t("walk.own.raised", line=at.line if at else "?"), icon=":material/error:")
        st.code(f"{type(error).__name__}: {error}", None, wrap_lines=True)


def _where(walked: Walked, index: int) -> None:
    """How this step stands to the one at which the run departs."""
    if walked.reference is None:
        return
    if walked.at is None:
        st.caption(t("walk.own.alike"))
    elif index == walked.at:
        st.info(t("walk.own.departs"), icon=":material/call_split:")
    elif index < walked.at:
        st.caption(t("walk.own.same_yet", step=walked.at + 1))
    else:
        st.caption(t("walk.own.after", step=walked.at + 1))


def compare(walked: Walked, number: int) -> None:
    """One own step (from 1) on the right, on the left what the reference does there, below all of them."""
    by, index = view.colour(), number - 1
    steps = [beside(walked, i) for i in range(len(walked.own))]
    for column, name, trace, step in zip(
        st.columns(2, gap="small"),
        ("reference", "own"),
        (walked.reference, walked.own),
        (steps[index], walked.own[index]),
        strict=True,
    ):
        with column:
            st.markdown(f"**{t(f'walk.own.{name}')}**")
            one_side(trace, step, by)
    with st.container(border=True):
        st.html(f"<strong>{t('walk.map')}</strong>{parts.legend()}")
        pair_map(steps, walked.own.steps, walked.at, index, heads=(t("walk.own.reference"), t("walk.own.own")))


def beside(walked: Walked, index: int) -> Step | None:
    """The reference's step that is seen beside an own one: that with the same numbers, or the last such; from where
    the run departs on, what the reference goes on with.
    """
    if walked.reference is None or not len(walked.reference):
        return None
    at = walked.pairs[index]
    if walked.at is not None and index >= walked.at:
        at = (walked.pairs[walked.at - 1] + 1 if walked.at else 0) + index - walked.at
    return walked.reference[at] if at < len(walked.reference) else None
