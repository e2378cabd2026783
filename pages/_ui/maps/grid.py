"""All heads of one layer as small maps in one figure; heads that share keys and values stand in one frame."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

MAX_SIDE = 64  # cells along a side of a small map; longer texts are pooled
_ACROSS = 4  # small maps in a row at most: as many as can be made out on a phone
_MAP_PX = 92  # height of a small map
_KV, _Q = "#a8517f", "#d55e00"  # the axis colours of H_kv and H
# Lengths in sides of a small map.
_GAP, _PAD, _LABEL, _TITLE = 0.12, 0.08, 0.2, 0.27


class Words(NamedTuple):
    """What the figure says, already in the language of the page; one entry for each head or KV head."""

    heads: Sequence[str]
    groups: Sequence[str]
    hovers: Sequence[str]


class Place(NamedTuple):
    """Top left corner of a small map, in sides of a small map; y goes down."""

    x: float
    y: float


class Plan(NamedTuple):
    """Where everything is: a place a head, a frame (x0, y0, x1, y1) a KV head (none where no keys are shared)."""

    maps: list[Place]
    frames: list[tuple[float, float, float, float]]
    width: float
    height: float


def plan(n_heads: int, n_kv_heads: int) -> Plan:
    """Groups from left to right and down, as many in a row as fit; inside a group its heads likewise."""
    group_size = n_heads // n_kv_heads
    shared = group_size > 1
    pad, title = (_PAD, _TITLE) if shared else (0.0, 0.0)
    across = min(group_size, _ACROSS)
    frame_width = 2 * pad + across + (across - 1) * _GAP
    frame_height = 2 * pad + title + -(-group_size // across) * (1 + _LABEL)
    per_row = max(1, _ACROSS // across)
    maps, frames = [], []
    for kv_head in range(n_kv_heads):
        row, column = divmod(kv_head, per_row)
        left, top = column * (frame_width + _GAP), row * (frame_height + _GAP / 2)
        if shared:
            frames.append((left, top, left + frame_width, top + frame_height))
        for i in range(group_size):
            down, right = divmod(i, across)
            maps.append(Place(left + pad + right * (1 + _GAP), top + pad + title + down * (1 + _LABEL) + _LABEL))
    rows = -(-n_kv_heads // per_row)
    in_a_row = min(n_kv_heads, per_row)
    return Plan(
        maps,
        frames,
        width=in_a_row * frame_width + (in_a_row - 1) * _GAP,
        height=rows * frame_height + (rows - 1) * _GAP / 2,
    )


def pooling(L: int) -> int:
    """How many rows and columns of a map of L tokens become one in the small maps."""
    return -(-L // MAX_SIDE)


def pooled(weights: np.ndarray, causal: bool) -> np.ndarray:
    """Maps (H, L, L) with the largest weight of each block, (H, l, l) float32; NaN where no token can be seen."""
    H, L, _ = weights.shape
    size = pooling(L)
    side = -(-L // size)
    padded = np.full((H, side * size, side * size), -1, dtype=np.float32)
    padded[:, :L, :L] = np.where(np.tri(L, dtype=bool), weights, -1) if causal else weights
    blocks = padded.reshape(H, side, size, side, size).max(axis=(2, 4))
    return np.where(blocks < 0, np.nan, blocks).astype(np.float32)


def grid(weights: np.ndarray, n_kv_heads: int, causal: bool, selected: int, words: Words) -> go.Figure:
    """A figure of the maps (H, L, L) of one layer. A click selects the point whose index is the head's."""
    where = plan(len(weights), n_kv_heads)
    small = pooled(weights, causal)  # (H, l, l)
    step = 1 / small.shape[-1]
    figure = go.Figure(
        [
            go.Heatmap(
                z=z, x0=place.x + step / 2, dx=step, y0=place.y + step / 2, dy=step,
                zmin=0, zmax=1, showscale=False, hoverinfo="skip",
            )
            for place, z in zip(where.maps, small, strict=True)
        ]
    )  # fmt: skip
    figure.add_scatter(  # heat maps cannot be selected, so a click is taken by the nearest of these unseen points
        x=[place.x + 0.5 for place in where.maps],
        y=[place.y + 0.5 for place in where.maps],
        mode="markers",
        marker={"opacity": 0, "size": 1},
        text=list(words.hovers),
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    chosen = where.maps[selected]
    figure.update_layout(
        shapes=[_box(*frame, color=_KV, width=1.5) for frame in where.frames]
        + [
            _box(place.x, place.y, place.x + 1, place.y + 1, color="rgba(128,128,128,.45)", width=1)
            for place in where.maps
        ]
        + [_box(chosen.x, chosen.y, chosen.x + 1, chosen.y + 1, color=_Q, width=3)],
        annotations=[
            _note(words.groups[i], x0 + _PAD, y0 + _PAD + _TITLE / 2, bgcolor=_KV, font={"color": "white", "size": 12})
            for i, (x0, y0, _, _) in enumerate(where.frames)
        ]
        + [
            _note(text, place.x, place.y - _LABEL / 2, font={"size": 12, **({"color": _Q} if head == selected else {})})
            for head, (text, place) in enumerate(zip(words.heads, where.maps, strict=True))
        ],
        xaxis={"range": [-0.03, where.width + 0.03], "visible": False, "fixedrange": True},
        yaxis={"range": [where.height + 0.03, -0.03], "visible": False, "fixedrange": True},
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        height=round(where.height * _MAP_PX),
        hoverdistance=-1,
    )
    return figure


def _box(x0: float, y0: float, x1: float, y1: float, color: str, width: float) -> dict:
    return {"type": "rect", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "line": {"color": color, "width": width}}


def _note(text: str, x: float, y: float, **look: object) -> dict:
    return {"text": text, "x": x, "y": y, "showarrow": False, "xanchor": "left", "yanchor": "middle", **look}
