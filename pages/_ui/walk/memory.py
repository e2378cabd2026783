"""The memory strip: where each element lies in its storage, and in which order a tensor reads it."""

import numpy as np
import torch

from core.trace import TensorState
from pages._ui.walk.colours import GREY, css, ink_on

SHOWN = 48  # cells of a strip; what follows is counted in words


def reading_order(state: TensorState) -> torch.Tensor:
    """Storage indices in the order in which the tensor's elements are read, (numel,) int64."""
    storage = torch.arange(state.storage_size)
    return storage.as_strided(state.shape, state.stride, state.offset).flatten()


def storage_strip(state: TensorState, colours: np.ndarray) -> str:
    """The first cells of the storage as they lie, in the colour of what each holds; grey where `state` reaches none."""
    order = reading_order(state).tolist()
    colours = colours.reshape(-1, 3)
    held: dict[int, int] = {}
    for element, place in enumerate(order):
        if place < SHOWN:
            held.setdefault(place, element)
    return _strip([(i, colours[held[i]] if i in held else None) for i in range(min(SHOWN, state.storage_size))])


def reading_strip(state: TensorState, colours: np.ndarray) -> str:
    """The first elements as the tensor reads them, each with the number of its place in storage."""
    order = reading_order(state)[:SHOWN].tolist()
    colours = colours.reshape(-1, 3)
    return _strip([(place, colours[element]) for element, place in enumerate(order)])


def _strip(cells: list[tuple[int, np.ndarray | None]]) -> str:
    drawn = []
    for place, colour in cells:
        ground, ink = (css(GREY), "#444") if colour is None else (css(colour), ink_on(colour))
        drawn.append(f'<i style="background:{ground};color:{ink}">{place}</i>')
    return f'<div class="hw-strip">{"".join(drawn)}</div>'
