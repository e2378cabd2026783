"""Head maps as they stand on the page: controls, the layer's heads, one head large, and what its numbers say."""

import html
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import streamlit as st

from core import lm
from core.errors import Explained, Unavailable
from pages._ui import i18n, state
from pages._ui.i18n import t
from pages._ui.maps import grid, head
from pages._ui.maps.labels import shown
from pages._ui.maps.samples import OPEN_FIRST, SAMPLES
from pages._ui.text import table, write

if TYPE_CHECKING:
    from torch import Tensor

    from core.lm.heads import HeadNumbers
    from core.lm.model import Attention

_MODELS = tuple(lm.MODELS)
_WIDEST = 1000  # CSS pixels; wider, the maps would no longer be square


class Wanted(NamedTuple):
    """What a person has set, already valid for the model."""

    model_id: str
    layer: int
    head: int
    text: str


def controls() -> Wanted:
    """One row: model, layer, head, text."""
    state.linked(state.MAPS_MODEL, _MODELS, _MODELS[0])
    state.put(state.MAPS_TEXT, state.get(state.MAPS_TEXT, SAMPLES[i18n.lang()][0]))
    which, what = st.columns([6, 5], gap="small", vertical_alignment="bottom")  # one row, two on a phone
    with which.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            t("maps.model"),
            _MODELS,
            format_func=lambda model_id: lm.MODELS[model_id].title,
            key=state.MAPS_MODEL,
            on_change=_forget_token,
        )
        card = lm.MODELS[state.choice(state.MAPS_MODEL, _MODELS, _MODELS[0])]
        first_layer, first_head = OPEN_FIRST[i18n.lang()]
        layer = _number(state.MAPS_LAYER, card.n_layers - 1, first_layer, t("maps.layer", last=card.n_layers - 1))
        chosen = _number(state.MAPS_HEAD, card.n_heads - 1, first_head, t("maps.head", last=card.n_heads - 1))
    with what.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_area(
            t("maps.text"),
            height=68,
            key=state.MAPS_TEXT,
            help=t("maps.text.help", limit=lm.MAX_TOKENS),
            bind="query-params",
            on_change=_forget_token,
        )
        st.menu_button(
            t("maps.samples"),
            [text for texts in SAMPLES.values() for text in texts],
            key=state.MAPS_SAMPLE,
            on_click=_use_sample,
        )
    state.link(state.MAPS_MODEL, _MODELS[0])
    return Wanted(card.id, layer, chosen, state.get(state.MAPS_TEXT, ""))


def _number(key: str, last: int, first_open: int, label: str) -> int:
    """A number 0 … `last`; one that another model's range allowed is moved into it before the widget is drawn."""
    number = state.whole_number(key, 0, last, min(first_open, last))
    state.put(key, number)
    # Without a default of the widget's own, each number that is chosen is written into the link, 0 too.
    st.number_input(label, 0, last, None, step=1, key=key, bind="query-params", width=116)
    return state.whole_number(key, 0, last, number)  # which is now the link's, where a link names one


def _forget_token() -> None:
    state.put(state.MAPS_TOKEN_CHOSEN, False)


def _use_sample() -> None:
    state.put(state.MAPS_TEXT, state.get(state.MAPS_SAMPLE, ""))
    _forget_token()


def fetch(model_id: str) -> None:
    """Get the model's files, where they are not there yet, and show how far that is. Raises Unavailable."""
    if lm.is_installed(model_id):
        return
    place = st.empty()
    with place.container(border=True):
        st.write(t("maps.fetching", title=lm.MODELS[model_id].title))
        bar = st.progress(0.0)

    def progress(stage: lm.Stage, done: float) -> None:
        bar.progress(done, t(f"maps.stage.{stage}"))

    try:
        lm.ensure(model_id, progress)
    finally:
        place.empty()


@contextmanager
def reading() -> Generator[None]:
    """Says that the model is at work, when that takes longer than a moment."""
    with st.spinner(t("maps.reading")):
        yield


def way_on(error: Explained) -> None:
    """What one can do at once about an error."""
    if isinstance(error, Unavailable):
        st.button(t("maps.again"), icon=":material/refresh:")


def maps(wanted: Wanted, attention: "Attention") -> None:
    """The layer's heads on the left, the chosen one large on the right."""
    from core.lm.heads import describe

    layer = attention.weights[wanted.layer]  # (H, L, L)
    numbers = describe(layer)
    _facts(attention)
    with st.container(width=_WIDEST):
        left, right = st.columns([5, 8], gap="medium")
    with left:
        _grid(wanted, attention, layer.numpy(), numbers)
        _numbers(wanted, numbers)
        _notes(attention)
    with right:
        _head(wanted, attention)


def _facts(attention: "Attention") -> None:
    card = lm.MODELS[attention.model_id]
    kind = "mha" if card.n_kv_heads == card.n_heads else "mqa" if card.n_kv_heads == 1 else "gqa"
    look = t("maps.causal") if card.causal else t("maps.both_ways")
    write(
        t(f"maps.facts.{kind}", look=look, group=card.n_heads // card.n_kv_heads)
        + f" [[L {len(attention.tokens)}|H {card.n_heads}|H_kv {card.n_kv_heads}|d_h {card.d_h}]]"
    )


def _grid(wanted: Wanted, attention: "Attention", layer: np.ndarray, numbers: "HeadNumbers") -> None:
    H = len(layer)
    group = H // attention.n_kv_heads
    words = grid.Words(
        heads=[t("maps.q", head=h) for h in range(H)],
        groups=[
            t("maps.group", kv=kv, first=kv * group, last=(kv + 1) * group - 1) for kv in range(attention.n_kv_heads)
        ],
        hovers=[_hover(h, h // group, numbers) for h in range(H)],
    )
    figure = grid.grid(layer, attention.n_kv_heads, attention.causal, wanted.head, words)
    st.plotly_chart(
        figure,
        key=state.MAPS_GRID,
        on_select=_open_head,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=t("maps.grid.alt", layer=wanted.layer, n_heads=H, n_kv_heads=attention.n_kv_heads, L=len(attention.tokens)),
    )


def _open_head() -> None:
    """A callback: the small map that was clicked becomes the head that is large."""
    clicked = state.get(state.MAPS_GRID, {}).get("selection", {}).get("point_indices", [])
    if clicked:
        state.put(state.MAPS_HEAD, clicked[0])


def _hover(head_index: int, kv_head: int, numbers: "HeadNumbers") -> str:
    said = {name: f"{values[head_index]:.2f}" for name, values in numbers._asdict().items()}
    return t("maps.hover", head=head_index, kv=kv_head, **said)


def _numbers(wanted: Wanted, numbers: "HeadNumbers") -> None:
    """The head's numbers, each with its rank in the layer; nothing where the text is too short for them (NaN)."""
    if numbers.entropy.isnan().any():
        return
    rows = []
    for name, values in numbers._asdict().items():
        value = values[wanted.head]
        unit = t("maps.bits") if name == "entropy" else ""
        rank = t("maps.rank", rank=int((values > value).sum()) + 1, n_heads=len(values))
        rows.append((t(f"maps.number.{name}"), f'<span class="hw-mono">{value:.2f} {unit}</span>', rank))
    st.html(table((t("maps.q", head=wanted.head), t("maps.number"), t("maps.number.rank")), rows))


def _notes(attention: "Attention") -> None:
    L = len(attention.tokens)
    block = grid.pooling(L)
    unknown = attention.tokens.count("[UNK]")
    notes = [
        t("maps.note.causal") if attention.causal else "",
        t("maps.note.scale"),
        t("maps.note.pooled", block=block) if block > 1 else "",
        t("maps.note.unknown", unknown=unknown, L=L) if unknown else "",
    ]
    st.caption(" ".join(note for note in notes if note))


def _head(wanted: Wanted, attention: "Attention") -> None:
    weights = attention.weights[wanted.layer, wanted.head]  # (L, L)
    kv_head = wanted.head * attention.n_kv_heads // attention.weights.shape[1]
    title = t("maps.title", layer=wanted.layer, head=wanted.head, kv=kv_head)
    st.markdown(f"**{title}**")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        query = _token(attention, weights)
        st.html(_looks(attention, weights, query), width="stretch")
    words = head.Words(query=t("maps.query"), key=t("maps.key"), weight=t("maps.weight"))
    st.plotly_chart(
        head.head(weights.numpy(), attention.tokens, attention.causal, query, words),
        alt=t("maps.head.alt", title=title),
    )
    _table(weights.numpy(), attention)


def _token(attention: "Attention", weights: "Tensor") -> int:
    """The token whose row is read out: the clearest one until somebody chooses."""
    from core.lm.heads import clearest_query

    last = len(attention.tokens) - 1
    clearest = clearest_query(weights)
    chosen = state.get(state.MAPS_TOKEN_CHOSEN, False)
    query = state.whole_number(state.MAPS_TOKEN, 0, last, clearest) if chosen else clearest
    state.put(state.MAPS_TOKEN, query)
    st.selectbox(
        t("maps.token"),
        range(last + 1),
        format_func=lambda i: f"{i}  {shown(attention.tokens[i])}",
        key=state.MAPS_TOKEN,
        on_change=state.put,
        args=(state.MAPS_TOKEN_CHOSEN, True),
        label_visibility="collapsed",
        width=132,
    )
    return query


def _looks(attention: "Attention", weights: "Tensor", query: int) -> str:
    """Where the query token looks, as HTML."""
    from core.lm.heads import strongest_keys

    keys = [
        f'<span class="hw-token hw-Lk">{html.escape(shown(attention.tokens[position]))}<sub>{position}</sub></span> '
        f"<b>{weight:.2f}</b>"
        for position, weight in strongest_keys(weights, query, 3)
    ]
    return t("maps.looks", keys=t("maps.looks.and").join(keys))


def _table(weights: np.ndarray, attention: "Attention") -> None:
    """The same weights for screen readers and keyboards. Sent only when opened."""
    import pandas as pd

    expander = st.expander(t("maps.table"), key=state.MAPS_TABLE, on_change="rerun")
    if expander.open:
        names = [f"{i} {shown(token)}" for i, token in enumerate(attention.tokens)]
        expander.dataframe(pd.DataFrame(weights, index=names, columns=names), alt=t("maps.table.alt"))
