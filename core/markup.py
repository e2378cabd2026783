"""The inline mark-up of our texts: `code`, **bold**, and [[B 2|H 8|L|d_h]] for a shape chip. Nothing nests.

The signs $ * < and the backslash are refused outside code: a Markdown renderer would take them for its own.
"""

import re
from typing import Literal, NamedTuple

AXES = ("B", "L", "Lq", "Lk", "H", "H_kv", "G", "d_h", "d_model")

_MARK = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|\[\[(?P<shape>[^\[\]]+)\]\]")
_STRAY = re.compile(r"`|\[\[|\]\]|[$*<\\]")
_AXIS = re.compile(r"(?P<axis>\w+)(?: (?P<size>\d+|[A-Za-z_]+))?")


class Segment(NamedTuple):
    """A stretch of text of one kind."""

    kind: Literal["text", "code", "bold", "shape"]
    text: str
    """What is between the marks."""
    axes: tuple[tuple[str, str], ...] = ()
    """Of a shape: the axes in order, each with its size, or "" where none is given."""


def parse(text: str) -> tuple[Segment, ...]:
    """Cut `text` into segments.

    Raises ValueError, which quotes the place, for an unclosed mark, an axis outside the legend, a sign of Markdown.
    """
    segments: list[Segment] = []
    end = 0
    for mark in _MARK.finditer(text):
        _add_plain(segments, text[end : mark.start()])
        end = mark.end()
        match mark.lastgroup:
            case "code":
                segments.append(Segment("code", mark["code"]))
            case "bold":
                segments.append(Segment("bold", mark["bold"]))
            case _:
                segments.append(Segment("shape", mark["shape"], _axes(mark["shape"])))
    _add_plain(segments, text[end:])
    return tuple(segments)


def _add_plain(segments: list[Segment], text: str) -> None:
    stray = _STRAY.search(text)
    if stray:
        raise ValueError(f"{stray[0]} without a partner or outside `code` in {text[stray.start() :][:24]!r}")
    if text:
        segments.append(Segment("text", text))


def _axes(shape: str) -> tuple[tuple[str, str], ...]:
    axes = []
    for part in shape.split("|"):
        match = _AXIS.fullmatch(part)
        if match is None or match["axis"] not in AXES:
            raise ValueError(f"{part!r} in [[{shape}]] is not an axis of {', '.join(AXES)} with an optional size")
        axes.append((match["axis"], match["size"] or ""))
    return tuple(axes)


def plain(text: str) -> str:
    """`text` for where there is no mark-up: code in its backticks, a shape as torch prints one. Raises as `parse`."""
    written = {"text": "{}", "bold": "{}", "code": "`{}`"}
    return "".join(
        "(" + ", ".join(size or axis for axis, size in segment.axes) + ")"
        if segment.kind == "shape"
        else written[segment.kind].format(segment.text)
        for segment in parse(text)
    )
