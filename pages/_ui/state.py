"""All state of a session: the only module that touches `st.session_state`.

A widget that belongs in a link is bound to the query string under its own key, so a key here is also the name in the
URL. Streamlit's `bind` puts the label that is shown into the link; where labels are translated, `linked` and `link` put
the option itself there, so that a link means the same in both languages. Whatever comes from a URL is validated on
reading: Streamlit holds a widget's limits in the browser alone.
"""

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from core.errors import LANGS, Lang

LANG = "lang"
HOME_CLOCK = "home_clock"
QUESTION_SECTION = "section"
QUIZ_MODE, QUIZ_TOPIC, QUIZ_LEVEL, QUIZ_PITFALL, QUIZ_QUESTION = "practice", "topic", "level", "pitfall", "question"
QUIZ_SITTING, QUIZ_SHOWN, QUIZ_RECORDED, QUIZ_UNSAVED = "quiz_sitting", "quiz_shown", "quiz_recorded", "quiz_unsaved"
QUIZ_SEED, QUIZ_ROUND, QUIZ_MADE, QUIZ_EXAM = "quiz_seed", "quiz_round", "quiz_made", "quiz_exam"
MAPS_MODEL, MAPS_LAYER, MAPS_HEAD, MAPS_TEXT = "model", "layer", "head", "text"
MAPS_TOKEN, MAPS_TOKEN_CHOSEN = "maps_token", "maps_token_chosen"
MAPS_SAMPLE, MAPS_GRID, MAPS_TABLE = "maps_sample", "maps_grid", "maps_table"
LAB_SHAPE, LAB_CHAIN, LAB_VIEW, LAB_AXIS = "shape", "chain", "view", "axis"
CODING_PROBLEM, CODING_MODE, CODING_MISTAKES, CODING_SEED = "problem", "mode", "mistakes", "seed"
CODING_UNSAVED = "coding_unsaved"
PROGRESS, PROGRESS_TOPIC, PROGRESS_PITFALL = "progress", "progress_topic", "progress_pitfall"
PROGRESS_FILE, PROGRESS_IMPORTED, PROGRESS_PACKAGE = "progress_file", "progress_imported", "progress_package"
WALK_COLOUR, WALK_MISTAKE, WALK_HOOD = "colour", "mistake", "hood"
WALK_SOURCE, WALK_BESIDE, WALK_OF = "source", "beside", "walk_of"
WALK_KIND, WALK_STEP, WALK_PLAYING, WALK_TICK = "attention", "step", "walk_playing", "walk_tick"
WALK_SIZES = {"B": "B", "L": "L", "Lk": "Lk", "d_model": "d_model", "n_heads": "H", "n_kv_heads": "H_kv"}

T = TypeVar("T")


def lang() -> Lang:
    """The language of this session; English until the frame has asked the browser."""
    return choice(LANG, LANGS, "en")


def choice(key: str, options: Sequence[T], fallback: T) -> T:
    """The chosen one of `options`, or `fallback` when there is none or it is not among them."""
    value = st.session_state.get(key)
    return next((option for option in options if option == value), fallback)


def linked(key: str, options: Sequence[str], fallback: str) -> None:
    """Take `key` from the link when it names one of `options` there, `fallback` when nothing is chosen yet.

    Call before the widget of `key` is drawn, and `link` after it.
    """
    url = st.query_params.get(key)
    if url in options and url != get(f"{key}_in_link", ""):
        put(key, url)
    if st.session_state.get(key) not in options:
        put(key, fallback)


def link(key: str, fallback: str) -> None:
    """Write what `key` holds into the link; `fallback` is left out of it."""
    value = get(key, fallback)
    put(f"{key}_in_link", value)
    if value != fallback:
        st.query_params[key] = value
    else:
        st.query_params.pop(key, None)


def unknown_in_link(key: str, options: Sequence[str]) -> str | None:
    """What the link names at `key` when that is none of `options`, else None. It may be any text at all."""
    url = st.query_params.get(key)
    return None if url is None or url in options else url


def new_in_link(key: str) -> str | None:
    """What the link has at `key`, any text at all, unless `link` wrote it there; else None."""
    url = st.query_params.get(key)
    return None if url == get(f"{key}_in_link", "") else url


def whole_number(key: str, low: int, high: int, fallback: int) -> int:
    """A whole number, moved into low … high; `fallback` when there is none."""
    value = st.session_state.get(key)
    return min(max(value, low), high) if isinstance(value, int) and not isinstance(value, bool) else fallback


def get(key: str, fallback: T) -> T:
    """What `key` holds, or `fallback` where it holds nothing or a value of another type (None: of any type)."""
    value = st.session_state.get(key, fallback)
    return value if fallback is None or isinstance(value, type(fallback)) else fallback


def put(key: str, value: object) -> None:
    """Set `key`. For the key of a widget, only before it is drawn or in a callback."""
    st.session_state[key] = value


def forget(key: str) -> None:
    """Let `key` hold nothing, so that its widget starts at its default. A callback."""
    st.session_state.pop(key, None)


def trigger(key: str, name: str) -> object:
    """What a component of our own has just sent under `name`; None where it sent nothing. For its callback."""
    return getattr(st.session_state.get(key), name, None)


def move(key: str, by: int, last: int, clock: str) -> None:
    """Move the number at `key` by `by`, within 1 … last. A callback."""
    put(key, min(max(get(key, 1) + by, 1), last))
    by_hand(clock)


def new_run(clock: str) -> int:
    """The number of this run of the page, to be handed to a fragment that a clock reruns."""
    put(clock, get(clock, 0) + 1)
    return get(clock, 0)


def by_hand(clock: str) -> None:
    """Say that the fragment's next run comes from a person and not from its clock. A callback."""
    put(f"{clock}_seen", 0)


def is_tick(clock: str, run: int) -> bool:
    """Whether the clock started this run of a fragment, and neither the page (number `run`) nor a person."""
    seen = get(f"{clock}_seen", 0)
    put(f"{clock}_seen", run)
    return seen == run
