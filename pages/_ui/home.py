"""The home page: its moving picture, in which one sequence is split into heads and merged again, cell by cell; and what
one left off.
"""

from functools import cache
from threading import Event, Thread

import streamlit as st

from pages._ui import state
from pages._ui.i18n import t

L, H, D_H = 4, 3, 2
CELL = 20
STAGES = ("x", "view", "transpose", "back", "reshape")
_imported = Event()
_HEADS = ("#d55e00", "#e69f00", "#cc79a7")


def places(token: int, feature: int) -> list[tuple[float, float]]:
    """(column, row) of one element of x (L, d_model) at each stage, in cells; one gap between heads.

    view(L, H, d_h) cuts a row into heads. transpose(0, 1) makes a block of each head, laid under one another here, in
    which each row is a token. The way back undoes both.
    """
    head, column = divmod(feature, D_H)
    whole = (feature + (H - 1) / 2, token + (L + 1) * (H - 1) / 2)
    cut = (feature + head, whole[1])
    blocks = (column + (H * D_H + H - 1 - D_H) / 2, head * (L + 1) + token)
    return [whole, cut, blocks, cut, whole]


def moving_picture() -> str:
    """HTML of the picture; it stands still where a person has asked for less motion."""
    width, height = H * D_H + H - 1, H * (L + 1) - 1
    cells = []
    for token in range(L):
        for feature in range(H * D_H):
            path = "".join(
                f"--x{i}:{x * CELL:g}px;--y{i}:{y * CELL:g}px;" for i, (x, y) in enumerate(places(token, feature))
            )
            ground = f"background:{_HEADS[feature // D_H]};opacity:{1 - 0.2 * token:g}"
            cells.append(f'<i style="{path}{ground}"></i>')
    labels = "".join(f'<span style="--i:{i}">{t(f"home.stage.{stage}")}</span>' for i, stage in enumerate(STAGES))
    box = f'style="width:{width * CELL}px;height:{height * CELL}px" role="img" aria-label="{t("home.picture.alt")}"'
    return f'<div class="hw-moving"><div {box}>{"".join(cells)}</div><div class="hw-stages">{labels}</div></div>'


def go_on() -> None:
    """What one left off. What that takes is imported beside the page, once the page stands, and then it is shown."""
    if _imported.is_set():
        from pages._ui.progress import going_on

        going_on.show()
    else:
        _wait(state.new_run(state.HOME_CLOCK))


@st.fragment(run_every=0.4)
def _wait(run: int) -> None:
    if _imported.is_set():
        st.rerun()
    elif state.is_tick(state.HOME_CLOCK, run):
        importing()


@cache
def importing() -> Thread:
    """The thread that imports the store and the questions, once for all sessions."""
    thread = Thread(target=_import, name="home-imports", daemon=True)
    thread.start()
    return thread


def _import() -> None:
    try:
        import core.progress.store
        from core.quiz import load_bank
        from pages._ui.progress import going_on

        _ = core.progress.store, going_on
        load_bank()
    finally:
        _imported.set()  # what does not work is told by the page
