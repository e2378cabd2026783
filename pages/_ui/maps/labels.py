"""Tokens as they are written on axes and in hover boxes: short, visible, and never taken for mark-up."""

import html
from collections.abc import Sequence

_LONGEST = 14  # characters of a token that an axis shows


def labels(tokens: Sequence[str]) -> list[str]:
    """A label for each token, fit for Plotly, which reads a little HTML."""
    return [html.escape(shown(token), quote=False) for token in tokens]


def shown(token: str) -> str:
    """A token that can be seen: spaces alone as ␣, the space before a word left out, a long one cut."""
    if not token.strip():
        return "␣" * min(len(token), _LONGEST)
    token = token.strip()
    return token if len(token) <= _LONGEST else token[: _LONGEST - 1] + "…"
