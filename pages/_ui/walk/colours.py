"""Colours of elements: what each element came from, by head, by token or by feature."""

from typing import Literal

import numpy as np

from core.trace import TensorState

ColourBy = Literal["head", "token", "feature"]
COLOUR_BY: tuple[ColourBy, ...] = ("head", "token", "feature")

# Okabe and Ito's colour-blind safe set (jfly.uni-koeln.de/color), without black; heads beyond take it again, darker.
_HEADS = ((213, 94, 0), (230, 159, 0), (204, 121, 167), (0, 114, 178), (0, 158, 115), (86, 180, 233), (178, 163, 20))
_PLAIN = (59, 91, 219)
_TOKEN = (0, 78, 130)
_FEATURE = (0, 100, 74)
GREY = (200, 204, 212)
_PALEST = 0.72  # how far towards white the last of a row of shades goes


def element_colours(state: TensorState, by: ColourBy = "head") -> np.ndarray:
    """An RGB colour for each element, (*state.shape, 3) uint8.

    By head: the hue is the head, the shade the token. By token or feature: one hue, the shade is the token or feature.
    Elements that have no such coordinate take the plain colour, or grey where only that coordinate was asked for.
    """
    if by != "head":
        names, hue = (("L", "Lk"), _TOKEN) if by == "token" else (("d_h", "d_model"), _FEATURE)
        place = _coordinates(state, names)
        shades = _shades([hue], place)
        shades[:, 0] = GREY
        return shades[0, place + 1]
    head, token = _coordinates(state, ("H", "H_kv")), _coordinates(state, ("L", "Lk"))
    hues = [_PLAIN, *(_head_colour(h) for h in range(int(head.max(initial=-1)) + 1))]
    return _shades(hues, token)[head + 1, token + 1]


def axis_colours(state: TensorState, axis: str, inner: str) -> np.ndarray:
    """Like `element_colours`: the hue is the coordinate along the axis called `axis`, the shade that along `inner`."""
    place, shade = state.coordinates(axis).numpy(), state.coordinates(inner).numpy()
    hues = [_PLAIN, *(_head_colour(i) for i in range(int(place.max(initial=-1)) + 1))]
    return _shades(hues, shade)[place + 1, shade + 1]


def css(colour: np.ndarray | tuple[int, ...]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(c) for c in colour))


def ink_on(colour: np.ndarray) -> str:
    """Black or white, whichever can be read on `colour` (relative luminance as in WCAG 2, with one gamma for all)."""
    red, green, blue = (float(c) / 255 for c in colour)
    return "#fff" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < 0.18 else "#111"


def _shades(hues: list[tuple[float, ...]], place: np.ndarray) -> np.ndarray:
    """(hue, place + 1, 3) uint8: each hue made paler from the first place to the last; unchanged for no place (-1)."""
    last = int(place.max(initial=0))
    share = np.concatenate([[0.0], _PALEST * np.arange(last + 1) / max(last, 1)])[None, :, None]
    base = np.array(hues, dtype=float)[:, None, :]
    return (base + (255 - base) * share).astype(np.uint8)


def _head_colour(head: int) -> tuple[float, ...]:
    return tuple(c * 0.62 ** (head // len(_HEADS)) for c in _HEADS[head % len(_HEADS)])


def _coordinates(state: TensorState, names: tuple[str, ...]) -> np.ndarray:
    """Coordinates along the first of `names` that any element has; -1 where there is none."""
    for name in names:
        found = state.coordinates(name).numpy()
        if (found >= 0).any():
            return found
    return np.full(state.shape, -1)
