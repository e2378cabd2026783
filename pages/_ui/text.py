"""Text with axis chips: `[[B 2|H 8|L 10|d_h 8]]` inside a sentence becomes the coloured chips of that shape.

Everything else in a text is Streamlit's Markdown. Only the project's own texts and values go through here: what a
person typed is escaped by whoever puts it in.
"""

import html
import re
from collections.abc import Sequence

import streamlit as st

_CHIPS = re.compile(r"\[\[([^\[\]]+)\]\]")
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
        parts.append(f'<span class="hw-axis hw-{css}"><i>{html.escape(name)}</i>{value}</span>')
    return f'<span class="hw-chip">{"".join(parts)}</span>'


def rich(text: str) -> str:
    """Markdown in which the shapes between double brackets have become chips."""
    return _CHIPS.sub(lambda m: chip([_name_and_size(part) for part in m[1].split("|")]), text)


def _name_and_size(part: str) -> tuple[str, str]:
    name, _, size = part.strip().partition(" ")
    return name, size.strip()


def write(text: str) -> None:
    """Show one of the project's own texts, chips and all."""
    st.markdown(rich(text), unsafe_allow_html=True)
