"""Text with axis chips: `[[B 2|H 8|L 10|d_h 8]]` inside a sentence becomes the coloured chips of that shape.

Everything else in a text is Streamlit's Markdown. Only the project's own texts and values go through here: what a
person typed is escaped by whoever puts it in.
"""

import html
from collections.abc import Iterable, Sequence

import streamlit as st

from core.markup import parse

# The legend of axis letters; each has its colour in style.css as .hw-<class>.
AXIS_CLASS = {
    "B": "B",
    "L": "L",
    "Lq": "L",
    "Lk": "Lk",
    "T": "Lk",
    "H": "H",
    "H_kv": "Hkv",
    "G": "Hkv",
    "d_h": "dh",
    "d_model": "dm",
    "H·d_h": "dm",
    "H_kv·d_h": "dmkv",
}


def chip(axes: Sequence[tuple[str, object]]) -> str:
    """HTML of one shape: a chip for each (axis name, size); an axis that mixes meanings is hatched in red."""
    parts = []
    for name, size in axes:
        css = AXIS_CLASS.get(name, "mixed" if "mixed" in name else "other")
        value = f"<b>{html.escape(str(size))}</b>" if str(size) else ""
        letter = f"<i>{html.escape(name)}</i>" if name else ""
        parts.append(f'<span class="hw-axis hw-{css}">{letter}{value}</span>')
    return f'<span class="hw-chip">{"".join(parts)}</span>'


def rich(text: str) -> str:
    """Markdown in which the shapes of `core.markup` have become chips; everything else is left to Markdown."""
    marks = {"text": "{}", "code": "`{}`", "bold": "**{}**"}
    return "".join(
        chip(segment.axes) if segment.kind == "shape" else marks[segment.kind].format(segment.text)
        for segment in parse(text)
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]], lit: int | None = None) -> str:
    """HTML of a table whose cells are HTML already; the row `lit` is the current one. Scrolls where it is too wide."""
    drawn = []
    for i, row in enumerate(rows):
        current = ' class="hw-lit" aria-current="step"' if i == lit else ""
        drawn.append(f"<tr{current}>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
    header = "".join(f"<th>{cell}</th>" for cell in head)
    return (
        '<div class="hw-scroll" tabindex="0"><table class="hw-table">'
        f"<thead><tr>{header}</tr></thead><tbody>{''.join(drawn)}</tbody></table></div>"
    )


def write(text: str, frame: str = "{}") -> None:
    """Show one of the project's own texts, chips and all; `frame` puts Markdown round it, such as "#### {}"."""
    st.markdown(frame.format(rich(text)), unsafe_allow_html=True)


def bullets(texts: Iterable[str]) -> None:
    """Show the project's own texts as a list."""
    st.markdown("\n".join(f"- {rich(text)}" for text in texts), unsafe_allow_html=True)
