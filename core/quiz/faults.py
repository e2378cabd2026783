"""Faults of question files: what is wrong, where, and what to do about it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import ValidationError

from core.errors import LANGS, BadInput, Lang
from core.quiz import files
from core.quiz.kinds import KINDS


class Place(NamedTuple):
    """Where something stands: a file, a line in it (1-based)."""

    path: Path
    line: int


class Fault(NamedTuple):
    """What is wrong with the bank, where, and what to do about it."""

    place: Place
    question: str | None
    problem: BadInput

    def text(self, lang: Lang = "en") -> str:
        """One line of words, without the folder: ``split.yaml:12 (question-id) …``."""
        given, expected, action = self.problem.parts(lang)
        about = f" ({self.question})" if self.question else ""
        stops = ("；", "。") if lang == "zh" else ("; ", ". ")
        return f"{self.place.path.name}:{self.place.line}{about} {given}{stops[0]}{expected}{stops[1]}{action}"


def of_validation(path: Path, node: yaml.Node | None, question: str | None, error: ValidationError) -> Iterator[Fault]:
    """What pydantic found wrong with one entry, each thing where it stands."""
    for problem in error.errors(include_url=False):
        loc = tuple(step for step in problem["loc"] if step not in KINDS)
        place = Place(path, files.line_of(node, loc))
        code, params = _worded(problem["type"], problem)
        yield Fault(place, question, BadInput(f"quiz.{code}", field=".".join(map(str, loc)) or "–", **params))


def _worded(kind: str, problem: Mapping) -> tuple[str, dict[str, object]]:
    """The code of ``errors.yaml``, and its parameters, for one problem that pydantic found."""
    value = repr(problem["input"])
    value = value if len(value) <= 60 else value[:60] + "…"
    if kind == "missing":
        return ("language-missing" if problem["loc"][-1] in LANGS else "field-missing"), {}
    if kind == "extra_forbidden":
        return "field-unknown", {}
    if kind == "string_type":
        return "field-not-text", {"value": value}
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return "kind-unknown", {"kinds": ", ".join(KINDS)}
    if "-" in kind:  # the codes of our own validators
        return kind, {"value": value} | dict(problem.get("ctx", {}))
    return "field-invalid", {"value": value, "detail": problem["msg"]}
