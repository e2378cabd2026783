"""Reads the problems' files and checks them against the schema."""

from functools import cache
from pathlib import Path

import yaml
from pydantic import ValidationError

from core.errors import BadInput
from core.judge.problems.schema import Problem
from core.pitfalls import PROBLEMS

_FOLDER = Path(__file__).parent
_SafeLoader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser, where PyYAML has it


@cache
def problems() -> tuple[Problem, ...]:
    """Every problem, easiest first."""
    return load(_FOLDER)


def problem(id_: str) -> Problem:
    """The problem with this id. Raises BadInput, which says the known ones, for any other."""
    for known in problems():
        if known.id == id_:
            return known
    raise BadInput("judge.problem-unknown", given=id_, known=", ".join(PROBLEMS))


def load(folder: Path) -> tuple[Problem, ...]:
    """The problems in `folder`. Raises BadInput for a file that cannot be read, with all that is wrong in it."""
    rules = _read(folder / "_rules.yaml")
    return tuple(_problem(folder / f"{id_}.yaml", rules) for id_ in PROBLEMS)


def _problem(path: Path, shared: dict) -> Problem:
    content = _read(path)
    faults = []
    if content.get("id") != path.stem:
        faults.append(f"id: {content.get('id')!r}, and the file is called {path.stem}")
    rules = content.get("rules")
    if isinstance(rules, list):
        names = [rule for rule in rules if isinstance(rule, str)]
        faults += [f"rules: no rule is called {name!r}" for name in names if name not in shared]
        content = {**content, "rules": [shared.get(rule) if isinstance(rule, str) else rule for rule in rules]}
    try:
        found = Problem.model_validate(content)
    except ValidationError as error:
        faults += [_said(problem["loc"], problem["msg"]) for problem in error.errors(include_url=False)]
    else:
        if not faults:
            return found
    raise BadInput("judge.problem-faulty", file=path.name, faults="; ".join(faults))


def _said(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place)) or 'starter'}: {message.removeprefix('Value error, ')}"


def _read(path: Path) -> dict:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        detail = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise BadInput("judge.problem-unreadable", file=path.name, detail=detail) from None
    if not isinstance(content, dict):
        raise BadInput("judge.problem-unreadable", file=path.name, detail=type(content).__name__)
    return content
