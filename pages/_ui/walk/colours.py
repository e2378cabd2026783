"""Colours of elements: hue says which head an element belongs to, shade which token it came from."""

import numpy as np

from core.trace import TensorState

# Okabe and Ito's colour-blind safe set (jfly.uni-koeln.de/color), without black; heads beyond take it again, darker.
_HEADS = ((213, 94, 0), (230, 159, 0), (204, 121, 167), (0, 114, 178), (0, 158, 115), (86, 180, 233), (178, 163, 20))
_NO_HEAD = (59, 91, 219)
GREY = (200, 204, 212)


def element_colours(state: TensorState) -> np.ndarray:
    """An RGB colour for each element, (*state.shape, 3) uint8."""
    token = _coordinates(state, ("L", "Lk"))
    head = _coordinates(state, ("H", "H_kv"))
    palette = np.array([_head_colour(h) for h in range(int(head.max(initial=-1)) + 1)] or [_NO_HEAD], dtype=float)
    base = np.where((head >= 0)[..., None], palette[np.clip(head, 0, None)], np.array(_NO_HEAD, dtype=float))
    longest = max(int(token.max(initial=0)), 1)
    fade = np.where(token >= 0, 0.62 * np.clip(token, 0, None) / longest, 0.0)[..., None]
    return (base + (255 - base) * fade).astype(np.uint8)


def css(colour: np.ndarray | tuple[int, ...]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(c) for c in colour))


def ink_on(colour: np.ndarray) -> str:
    """Black or white, whichever can be read on `colour` (relative luminance as in WCAG 2, without the gamma step)."""
    red, green, blue = (float(c) / 255 for c in colour)
    return "#fff" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < 0.36 else "#111"


def _head_colour(head: int) -> tuple[float, ...]:
    return tuple(c * 0.62 ** (head // len(_HEADS)) for c in _HEADS[head % len(_HEADS)])


def _coordinates(state: TensorState, names: tuple[str, ...]) -> np.ndarray:
    """Coordinates along the first of `names` that any element has; -1 where there is none."""
    for name in names:
        found = state.coordinates(name).numpy()
        if (found >= 0).any():
            return found
    return np.full(state.shape, -1)
