"""The project's own texts and pieces of code as HTML and as labels of buttons."""

import html
import re

from core.markup import parse
from core.quiz.kinds.choice import Option, Outcome
from core.quiz.kinds.pairs import Left, Right
from pages._ui.i18n import lang, t
from pages._ui.text import chip


def inline(text: str) -> str:
    """HTML of one of the project's own texts."""
    marks = {"text": "{}", "code": "<code>{}</code>", "bold": "<b>{}</b>"}
    return "".join(
        chip(segment.axes) if segment.kind == "shape" else marks[segment.kind].format(html.escape(segment.text))
        for segment in parse(text)
    )


def code(text: str) -> str:
    """HTML of a piece of code, its lines and spaces kept."""
    return f"<code>{html.escape(text)}</code>"


def label(text: str) -> str:
    """Markdown of one of the project's own texts for a button, which cannot hold chips: a shape becomes code."""
    return re.sub(r"\[\[([^\[\]]+)\]\]", lambda m: f"`({m[1].replace('|', ', ')})`", text)


def code_label(text: str) -> str:
    """Markdown of a line of code for a button, its indentation kept."""
    indent = "\u00a0" * (len(text) - len(text.lstrip()))  # a plain space would be lost
    return f"`{indent}{text.lstrip()}`"


def item_label(item: Option | Left | Right) -> str:
    """Markdown of what can be chosen or matched."""
    return code_label(item.code) if item.code else label(item.text[lang()] if item.text else "")


def item(item: Option | Left | Right) -> str:
    """HTML of what can be chosen or matched."""
    return code(item.code) if item.code else inline(item.text[lang()] if item.text else "")


def outcome(end: Outcome) -> str:
    """How a run may end, with the mark-up of the project's texts."""
    return t("quiz.outcome.raises", line=end.line, error=end.error) if end.error else t("quiz.outcome.runs")
