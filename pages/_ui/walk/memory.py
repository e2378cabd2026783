"""The memory strip: where each element lies in its storage, how far apart neighbours lie, and the order of reading."""

import html
from collections.abc import Sequence

import numpy as np
import torch

from core.trace import TensorState
from pages._ui.i18n import t
from pages._ui.text import AXIS_CLASS, chip
from pages._ui.walk.colours import GREY, css, ink_on

SHOWN = 48  # cells of a strip; what follows is counted in words
_NARROWEST = 330  # CSS pixels that a strip has on a phone
_WIDEST_CELL = 23
_LANE = 20  # CSS pixels from one arrow to the next above it


def reading_order(state: TensorState) -> torch.Tensor:
    """Storage indices in the order in which the tensor's elements are read, (numel,) int64."""
    storage = torch.arange(state.storage_size)
    return storage.as_strided(state.shape, state.stride, state.offset).flatten()


def window(state: TensorState) -> range:
    """The places of the storage that a strip shows: its first, or those from shortly before the first element."""
    start = 0 if state.offset < SHOWN // 2 else state.offset // 8 * 8
    return range(start, min(start + SHOWN, state.storage_size))


def storage_strip(state: TensorState, colours: np.ndarray, names: Sequence[str] | None = None) -> str:
    """The storage as it lies, in the colour of what each place holds; grey where `state` reaches none.

    Over it one arrow an axis, from the first element to its neighbour along that axis: as long as the stride, called
    as in `names`, or by the axis's own letter where it has one.
    """
    if names is None:
        names = ["" if axis.mixed else str(axis) for axis in state.axes]
    shown = window(state)
    order = reading_order(state).numpy()
    inside = np.flatnonzero((order >= shown.start) & (order < shown.stop))[::-1]  # reversed: of several the first stays
    held = dict(zip(order[inside].tolist(), inside.tolist(), strict=True))
    colours = colours.reshape(-1, 3)
    every = 4 if shown.stop <= 100 else 8
    cells = []
    for place in shown:
        ground = css(colours[held[place]] if place in held else GREY)
        number = f"<u>{place}</u>" if place % every == 0 else ""
        cells.append(f'<i style="background:{ground}">{number}</i>')
    width = f"max-width:{len(shown) * _WIDEST_CELL}px"
    row = f'<div class="hw-row" style="grid-template-columns:repeat({len(shown)},1fr)">{"".join(cells)}</div>'
    label = html.escape(_spoken(state, names, shown), quote=True)
    return f'<div role="img" aria-label="{label}" style="{width}">{_arrows(state, names, shown)}{row}</div>'


def reading_strip(state: TensorState, colours: np.ndarray) -> str:
    """The first elements as the tensor reads them, each with the number of its place in storage."""
    order = reading_order(state)[:SHOWN].tolist()
    colours = colours.reshape(-1, 3)
    width = max(_WIDEST_CELL, 6 * len(str(max(order, default=0))) + 4)
    drawn = []
    for element, place in enumerate(order):
        ground, ink = css(colours[element]), ink_on(colours[element])
        drawn.append(f'<i style="background:{ground};color:{ink}">{place}</i>')
    return f'<div class="hw-strip" style="--w:{width}px">{"".join(drawn)}</div>'


def jumps(state: TensorState) -> list[int]:
    """The axes along which the first element has a neighbour, the nearest neighbour first."""
    found = [dim for dim, size in enumerate(state.shape) if size > 1] if state.numel else []
    return sorted(found, key=lambda dim: state.stride[dim])


def _arrows(state: TensorState, names: Sequence[str], shown: range) -> str:
    """The arrows over a row of the places `shown`, each in a lane of its own: the longest jump outermost."""
    lanes = jumps(state)
    if not lanes:
        return ""
    count, cut = len(shown), False
    start = 100 * (state.offset - shown.start + 0.5) / count  # per cent of the row: the middle of the first element
    drawn = []
    for lane, dim in enumerate(lanes):
        jump, foot = state.stride[dim], _LANE * lane
        css_class = AXIS_CLASS.get(names[dim], "mixed" if "mixed" in names[dim] else "other")
        leaves = state.offset + jump >= shown.stop
        width = 100 - start if leaves else 100 * jump / count
        cut = cut or leaves
        if jump == 0:
            shape, place = "loop", f"left:calc({start:.2f}% - 7px);bottom:{foot + 3}px"
        elif leaves:
            shape, place = "leaves", f"left:{start:.2f}%;right:0;bottom:{foot + 5}px"
        else:
            shape = "jump"
            place = f"left:{start:.2f}%;width:calc({width:.2f}% + 5px);height:{foot + 10}px"
        room = width * min(_NARROWEST, count * _WIDEST_CELL) / 100
        if room >= _label_width(names[dim], jump):
            at = f"left:{start + width / 2:.2f}%;transform:translateX(-50%)"
        elif start + width < 70:
            at = f"left:calc({start + width:.2f}% + 8px)"
        else:
            at = f"right:calc({100 - start:.2f}% + 8px)"
        drawn.append(f'<b class="hw-{shape} hw-{css_class}" style="{place}"></b>')
        drawn.append(f'<span style="bottom:{foot}px;{at}">{chip([(names[dim], f"+{jump}")])}</span>')
    trunk = f'<s style="left:{start:.2f}%;height:{_LANE * (len(lanes) - 1) + 10}px"></s>'
    edge = " hw-cut" if cut else ""
    return f'<div class="hw-arrows{edge}" style="height:{_LANE * len(lanes)}px">{trunk}{"".join(drawn)}</div>'


def _label_width(name: str, jump: int) -> int:
    """About how many CSS pixels the label of an arrow takes."""
    return 7 * len(f"{name}+{jump}") + 20


def _spoken(state: TensorState, names: Sequence[str], shown: range) -> str:
    """What the strip shows, for a reader who cannot see it."""
    said = t("walk.memory.spoken", first=shown.start, last=shown.stop - 1, size=state.storage_size, offset=state.offset)
    steps = [
        t("walk.memory.spoken.jump", axis=names[dim] or f"dim {dim}", stride=state.stride[dim]) for dim in jumps(state)
    ]
    return " ".join([said, *steps])
