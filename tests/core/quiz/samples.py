"""A sound question to start from, and how to change it."""

from copy import deepcopy
from typing import Any

CHOICE: dict[str, Any] = {
    "id": "scores-shape",
    "kind": "one-choice",
    "topic": "split",
    "level": 1,
    "pitfalls": ["split-no-transpose"],
    "prompt": {"en": "What is `scores.shape`?", "zh": "`scores.shape` 是什么？"},
    "code": "q = torch.zeros(2, 10, 4, 16)\nscores = q @ q.transpose(-2, -1)",
    "options": [
        {"id": "heads-meet", "code": "(2, 10, 4, 4)"},
        {"id": "tokens-meet", "code": "(2, 4, 10, 10)"},
        {"id": "raises", "text": {"en": "it raises", "zh": "抛出异常"}, "claims": "RuntimeError"},
    ],
    "answer": "heads-meet",
    "proof": "scores.shape",
    "explanation": {"en": "Heads meet heads: [[B 2|L 10|H 4|H 4]].", "zh": "头看头：[[B 2|L 10|H 4|H 4]]。"},
}

TOPICS = [
    {"id": "split", "name": {"en": "Splitting", "zh": "拆头"}},
    {"id": "mask", "name": {"en": "Masks", "zh": "因果 mask"}},
]


def question(**changes: Any) -> dict[str, Any]:
    """A sound question with `changes`; None takes a field out."""
    made = {**deepcopy(CHOICE), **changes}
    return {name: value for name, value in made.items() if value is not None}


def typed(kind: str, **changes: Any) -> dict[str, Any]:
    return question(kind=kind, options=None, **changes)
