"""The mark-up inside prompts, options and explanations: `code` and shape chips.

Text is plain words with two marks in it:

- ``code`` between backticks, shown in monospace, read as it stands;
- a shape with its axis names, ``[[B 2|H 8|L 10|d_h 8]]``: one or more ``letter size`` pairs divided by ``|``,
  the letters those of the legend (`AXES`), the size a whole number. A page shows it as coloured chips.
  No chip is looked for inside backticks.

The signs ``$ * < \\`` are refused outside code, because a Markdown renderer would take them for its own.
"""

import re

from pydantic_core import PydanticCustomError

AXES = ("B", "L", "Lq", "Lk", "H", "H_kv", "G", "d_h", "d_model")
_CHIP = rf"(?:{'|'.join(AXES)}) \d+"
MARK = re.compile(rf"`[^`\n]+`|\[\[{_CHIP}(?:\|{_CHIP})*\]\]")
"""One mark, whole and well formed."""
_REFUSED = re.compile(r"[$*<\\`]|\[\[|\]\]")


def check_markup(text: str) -> None:
    """Raises PydanticCustomError ``bad-markup`` for a mark that is not closed, a letter that is not in the legend, or
    a sign that Markdown would take for its own.
    """
    words = MARK.sub(lambda mark: "\u0001" * len(mark[0]), text)
    refused = _REFUSED.search(words)
    if refused:
        near = text[refused.start() : refused.start() + 24]
        raise PydanticCustomError("bad-markup", "bad-markup", {"near": near, "axes": ", ".join(AXES)})
