"""Reads the content files, computes the values that stand in their texts, and checks the whole against the schema."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.content.schema import Item, Question, Related, Term
from core.content.values import compute

FOLDER = Path(__file__).parents[2] / "quiz_data"

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@cache
def load_question() -> Question:
    """The question, every number in its texts computed."""
    raw = _read("question")
    values = {name: compute(*call) for name, call in raw.pop("values").items()}
    return Question.model_validate(_filled(raw, values))


@cache
def load_glossary() -> tuple[Term, ...]:
    """The terms, in the order of the file: from the head outwards."""
    return tuple(Term.model_validate(entry) for entry in _read("glossary"))


@cache
def load_reading() -> tuple[Item, ...]:
    """Papers and documentation, in the order in which to read them."""
    return tuple(Item.model_validate(entry) for entry in _read("reading"))


@cache
def load_related() -> tuple[Related, ...]:
    """The questions that tend to follow."""
    return tuple(Related.model_validate(entry) for entry in _read("related"))


def _read(name: str) -> Any:
    """A content file as it stands, unchecked."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def _filled(node: Any, values: dict[str, str]) -> Any:
    """`node` with {name} replaced in every text in two languages; code is left alone. KeyError for an unknown name."""
    if isinstance(node, list):
        return [_filled(entry, values) for entry in node]
    if not isinstance(node, dict):
        return node
    if node.keys() == {"en", "zh"}:
        return {
            lang: _PLACEHOLDER.sub(lambda match: values[match[1]], text) if isinstance(text, str) else text
            for lang, text in node.items()
        }
    return {key: _filled(entry, values) for key, entry in node.items()}
