"""Steps one can go through: buttons, keys, a slider, and a clock that moves on by itself."""

from collections.abc import Callable

import streamlit as st

from pages._ui import state
from pages._ui.i18n import t

PLAY_SECONDS = 1.4


def stepped(draw: Callable[[int], None], last: int, start: int = 1, beside: Callable[[], None] = lambda: None) -> None:
    """Draw a step and redraw it alone when the step changes. `draw` gets its number, from 1 to `last`.

    Without a step chosen or in the link it begins at `start`. `beside` draws widgets that change how a step is drawn
    into the row of the controls.
    """
    playing = state.get(state.WALK_PLAYING, False)
    run = state.new_run(state.WALK_TICK)
    if start > 1 and not state.get(state.WALK_STEP, 0):
        state.put(state.WALK_STEP, start)  # a step in the link still wins

    def fragment() -> None:
        if state.get(state.WALK_PLAYING, False) and state.is_tick(state.WALK_TICK, run):
            current = state.get(state.WALK_STEP, start)
            state.put(state.WALK_STEP, current + 1 if current < last else 1)
        elif state.get(state.WALK_STEP, start) > last:  # other sizes have made the walk shorter
            state.put(state.WALK_STEP, last)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            _controls(last)
            beside()
        draw(state.whole_number(state.WALK_STEP, 1, last, start))
        if state.get(state.WALK_PLAYING, False) != playing:
            st.rerun()  # the clock starts and stops with a run of the page, after every widget was drawn

    st.fragment(fragment, run_every=PLAY_SECONDS if playing else None)()


def _controls(last: int) -> None:
    playing = state.get(state.WALK_PLAYING, False)
    for label, shortcut, by in (("walk.back", "Left", -1), ("walk.next", "Right", 1)):
        st.button(
            t(label),
            shortcut=shortcut,
            type="primary" if by > 0 else "secondary",
            on_click=state.move,
            args=(state.WALK_STEP, by, last, state.WALK_TICK),
        )
    st.button(
        t("walk.pause") if playing else t("walk.play"),
        icon=":material/pause:" if playing else ":material/play_arrow:",
        key="walk_play",
        on_click=state.put,
        args=(state.WALK_PLAYING, not playing),
    )
    st.slider(  # without a default of its own: the buttons set its value through the session's state
        t("walk.step", last=last),
        1,
        max(last, 2),
        key=state.WALK_STEP,
        bind="query-params",
        on_change=state.by_hand,
        args=(state.WALK_TICK,),
    )
