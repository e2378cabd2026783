"""One head large: queries down, keys across, every weight under the pointer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from pages._ui.maps.labels import labels

HEIGHT = 530
_QUERY, _TITLES = "#0072b2", "#2b86bd"  # the axis colours of L, the second to be read on light and dark
_GAPS_UP_TO = 40  # tokens: beyond, gaps between cells would eat the cells


class Words(NamedTuple):
    """What the figure says, already in the language of the page."""

    query: str
    key: str
    weight: str


def head(weights: np.ndarray, tokens: Sequence[str], causal: bool, query: int, words: Words) -> go.Figure:
    """A figure of one head's weights (L, L), the row of token `query` outlined.

    Cells that a causal model cannot see are left out (NaN), so that they are not taken for a weight of 0.
    """
    L = len(tokens)
    z = weights.astype(np.float32, copy=True)  # (L, L)
    if causal:
        z[np.triu_indices(L, 1)] = np.nan
    # The axes count tokens, since a token may come twice; the aliases are what is read, on ticks and under the pointer.
    axis = {
        "type": "category",
        "labelalias": {str(i): label for i, label in enumerate(labels(tokens))},
        "tickfont": {"size": 11},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "constrain": "domain",
    }
    gap = 1 if L <= _GAPS_UP_TO else 0
    figure = go.Figure(
        go.Heatmap(
            z=z,
            x=[str(i) for i in range(L)],
            y=[str(i) for i in range(L)],
            zmin=0,
            zmax=1,
            xgap=gap,
            ygap=gap,
            hoverongaps=False,
            hovertemplate=(
                "%{y} <i>(%{pointNumber[0]})</i> → %{x} <i>(%{pointNumber[1]})</i><br><b>%{z:.4f}</b><extra></extra>"
            ),
            colorbar={
                "orientation": "h",
                "title": {"text": words.weight, "side": "top"},
                "thickness": 8,
                "len": 0.5,
                "x": 1,
                "xanchor": "right",
                "y": -0.01,
                "yanchor": "top",
                "tickvals": [0, 0.5, 1],
            },
        )
    )
    figure.update_layout(
        xaxis={
            **axis,
            "side": "top",
            "autotickangles": [0, -90],
            "title": {"text": words.key, "font": {"color": _TITLES}},
        },
        yaxis={**axis, "autorange": "reversed", "title": {"text": words.query, "font": {"color": _TITLES}}},
        shapes=[
            {
                "type": "rect",
                "x0": -0.5,
                "x1": (query if causal else L - 1) + 0.5,
                "y0": query - 0.5,
                "y1": query + 0.5,
                "line": {"color": _QUERY, "width": 2},
            }
        ],
        margin={"l": 0, "r": 4, "t": 0, "b": 46},
        height=HEIGHT,
        dragmode=False,  # so that a finger on the map scrolls the page; the toolbar has zoom
    )
    return figure
