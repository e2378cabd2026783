"""The mistake switch: the walk with a mistake in the code, beside the right one, from the step at which they part."""

import streamlit as st

from core import pitfalls
from core.quiz import load_bank
from core.trace import Step, Trace
from pages._ui import cache, links, state
from pages._ui.i18n import lang, t
from pages._ui.text import chip, write
from pages._ui.walk import parts
from pages._ui.walk.colours import ColourBy
from pages._ui.walk.listing import listing
from pages._ui.walk.mistakes import Mistake, step_of
from pages._ui.walk.step_map import pair_map
from pages._ui.walk.view import colour

NONE = "none"


def chosen() -> str:
    """The id of the mistake that is switched on, or none: as the link or the switch has it."""
    options = [NONE, *(entry.id for entry in pitfalls.catalogue())]
    state.linked(state.WALK_MISTAKE, options, NONE)
    return state.choice(state.WALK_MISTAKE, options, NONE)


def switch() -> None:
    """Choose a mistake, or none."""
    labels = {NONE: t("walk.mistake.none")}
    labels |= {entry.id: f"{entry.title[lang()]} · {entry.id}" for entry in pitfalls.catalogue()}
    st.selectbox(
        t("walk.mistake"),
        list(labels),
        format_func=labels.__getitem__,
        key=state.WALK_MISTAKE,
        on_change=state.forget,
        args=(state.WALK_STEP,),  # another mistake starts where it parts from the right code
        persist_state="session",
    )
    state.link(state.WALK_MISTAKE, NONE)


def told(mistake: Mistake) -> None:
    """What the mistake is, the changed lines, and what one sees when the code is run."""
    entry = mistake.entry
    words, code = st.columns([9, 10], gap="small")
    with words:
        write(f"{entry.why[lang()]} {entry.symptom[lang()]}")
        write(f"**{t('walk.mistake.seen')}** {_seen(mistake)}")
        if mistake.outcome.error:
            st.code(mistake.outcome.error, None, wrap_lines=True)
        write(f"**{t('walk.mistake.repair')}** {entry.repair[lang()]}")
        asked = [question for question in load_bank().questions if entry.id in question.pitfalls]
        if asked:
            links.link_to("quiz", t("walk.mistake.quiz"), question=asked[0].id)
    with code:
        st.code(mistake.diff, "diff", wrap_lines=True)
        sizes = [(name, size) for name, size in mistake.outcome.case.sizes.items() if name in _shown(mistake)]
        st.html(f'<span class="hw-small hw-mute">{t("walk.mistake.case")}</span> {chip(sizes)}')


def _shown(mistake: Mistake) -> set[str]:
    """The sizes that the reference has."""
    reference = mistake.changed.reference
    names = {"B", "L", "H", "d_h"}
    if "n_kv_heads" in (reference.arguments or ()):
        names.add("H_kv")
    if "context" in reference.takes or "q" in reference.takes:
        names.add("Lk")
    return names


def _seen(mistake: Mistake) -> str:
    outcome = mistake.outcome
    return t(
        f"walk.shows.{outcome.shows}",
        shape=outcome.shape,
        expected_shape=outcome.expected_shape,
        difference=f"{outcome.difference or 0:.2g}",
        largest=f"{outcome.largest or 0:.2g}",
        share=f"{outcome.nan_share or 0:.0%}",
        returned=outcome.returned,
        names=", ".join(outcome.gradients or outcome.weights or outcome.written),
        expected_error=outcome.expected_error,
        bytes=outcome.cache_bytes,
    )


def compare(mistake: Mistake, step: int) -> None:
    """One step (from 1) of both walks, right on the left, wrong on the right, and where it stands among all steps."""
    by, index = colour(), step - 1
    if index == mistake.at:
        st.info(t("walk.mistake.parts_here"), icon=":material/call_split:")
    elif index < mistake.at:
        st.caption(t("walk.mistake.same_yet", step=mistake.at + 1))
    for column, side, trace in zip(
        st.columns(2, gap="small"), ("right", "wrong"), (mistake.right, mistake.wrong), strict=True
    ):
        with column:
            st.markdown(f"**{t(f'walk.mistake.{side}')}**")
            one_side(trace, step_of(trace, index), by)
    with st.container(border=True):
        st.html(f"<strong>{t('walk.map')}</strong>{parts.legend()}")
        heads = (t("walk.mistake.right"), t("walk.mistake.wrong"))
        pair_map(mistake.right, mistake.wrong, mistake.at, index, heads)


def one_side(trace: Trace | None, step: Step | None, by: ColourBy) -> None:
    """One step of one of two walks: its tensors, its memory, and its place in the source."""
    if trace is None or step is None:
        st.caption(t("walk.mistake.ended"))
        return
    with st.container(border=True):
        st.html(parts.told(step, by))
        parts.raised(step)
        if step.output is not None and step.output.storage >= 0:
            st.html(parts.memory_strips(step.output, step, by))
    st.html(listing(trace, step))


def load(pitfall_id: str) -> Mistake:
    """The mistake, run; with a spinner while it does."""
    with st.spinner(t("walk.mistake.running")):
        return cache.mistake(pitfall_id)
