"""The walk as it stands on the page: controls, source, tensors before and after, memory, and the map of all steps."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core.trace import Trace
from pages._ui import state
from pages._ui.i18n import t
from pages._ui.walk.colours import COLOUR_BY, ColourBy
from pages._ui.walk.listing import listing
from pages._ui.walk.parts import legend, memory_strips, raised, told
from pages._ui.walk.runs import DEFAULTS, KINDS, LABELS, LIMITS, SIZES, Setup
from pages._ui.walk.step_map import step_map


def setup_choice() -> Setup:
    """Which attention, and its sizes. Draws into the row that is open."""
    st.segmented_control(
        t("walk.attention"),
        KINDS,
        format_func=LABELS.__getitem__,
        key=state.WALK_KIND,
        bind="query-params",
        required=True,
        default=KINDS[0],
    )
    kind = state.choice(state.WALK_KIND, KINDS, KINDS[0])
    sizes = DEFAULTS | sizes_choice(SIZES[kind])
    hood = st.toggle(t("walk.hood"), key=state.WALK_HOOD, bind="query-params", help=t("walk.hood.help"))
    return Setup(kind, **sizes, under_the_hood=bool(hood))


def sizes_choice(names: Sequence[str], limits: Mapping[str, tuple[int, int]] = LIMITS) -> dict[str, int]:
    """The sizes called `names`. Draws into the row that is open."""
    sizes = {}
    for name in names:
        key = state.WALK_SIZES[name]
        low, high = limits[name]
        if state.get(key, low) > high:  # chosen where more is allowed
            state.put(key, high)
        st.number_input(
            key, low, high, DEFAULTS[name], key=key, bind="query-params", width=66 if name == "d_model" else 54
        )
        sizes[name] = state.whole_number(key, low, high, DEFAULTS[name])
    return sizes


def colour_choice() -> None:
    """What the cells are coloured by."""
    state.linked(state.WALK_COLOUR, COLOUR_BY, COLOUR_BY[0])
    st.segmented_control(
        t("walk.colour"),
        COLOUR_BY,
        format_func=lambda by: t(f"walk.colour.{by}"),
        key=state.WALK_COLOUR,
        required=True,
        persist_state="session",
    )
    state.link(state.WALK_COLOUR, COLOUR_BY[0])


def colour() -> ColourBy:
    """What was chosen there."""
    return state.choice(state.WALK_COLOUR, COLOUR_BY, COLOUR_BY[0])


def walk(trace: Trace, number: int, parting: int | None = None) -> None:
    """One step of a trace, from 1: source, tensors before and after, memory, and where it stands among all steps.

    The step at index `parting`, if there is one, is marked as that at which the run departs from the right one.
    """
    step = trace[number - 1]
    by = colour()
    source, tensors = st.columns([9, 10], gap="small")
    with source:
        st.html(listing(trace, step))
    with tensors:
        with st.container(border=True):
            st.html(told(step, by))
            raised(step)
        if step.output is not None and step.output.storage >= 0:
            with st.container(border=True):
                st.html(memory_strips(step.output, step, by))
    with st.container(border=True):
        st.html(f"<strong>{t('walk.map')}</strong>{legend()}")
        step_map(trace, step.index, parting)
