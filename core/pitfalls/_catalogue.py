"""Reads the catalogue: the ids from ids.txt alone, the entries from catalogue/<group>.yaml. Imports no torch."""

import re
from functools import cache
from pathlib import Path

import yaml

from core.errors import BadInput
from core.pitfalls.schema import Entry, Form, Group

_FOLDER = Path(__file__).parent
_SafeLoader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser, where PyYAML has it


def _vocabulary() -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    group = ""
    for line in (_FOLDER / "ids.txt").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[([a-z]+)\]", line):
            group = heading[1]
            groups[group] = ()
        elif line and not line.startswith("#"):
            groups[group] += (line,)
    return groups


VOCABULARY: dict[str, tuple[str, ...]] = _vocabulary()
"""The ids of each group, in order."""
IDS: tuple[str, ...] = tuple(id_ for ids in VOCABULARY.values() for id_ in ids)
"""Every id of the vocabulary, in order."""


@cache
def groups() -> tuple[Group, ...]:
    """The groups of the catalogue, in the order in which attention is computed."""
    found = []
    for name in VOCABULARY:
        content = yaml.load((_FOLDER / "catalogue" / f"{name}.yaml").read_text(encoding="utf-8"), _SafeLoader)
        found.append(Group.model_validate({"id": name, **content}))
    return tuple(found)


@cache
def _entries() -> dict[str, Entry]:
    return {entry.id: entry for group in groups() for entry in group.entries}


def catalogue() -> tuple[Entry, ...]:
    """Every entry, group by group."""
    return tuple(_entries().values())


def entry(id_: str) -> Entry:
    """The entry of a mistake. Raises BadInput (a ValueError) for an id that is not in the catalogue."""
    if id_ not in _entries():
        raise BadInput("pitfalls.unknown-pitfall", pitfall=id_)
    return _entries()[id_]


def mistakes_in(reference: str) -> tuple[tuple[Entry, Form], ...]:
    """Every form of a mistake that can be made in the reference called `reference`, with its entry."""
    return tuple((entry, form) for entry in catalogue() for form in entry.forms if reference in form.references)


def form_of(entry: Entry, name: str | None = None) -> Form:
    """The form of an entry with this name, the first without a name. Raises BadInput for a name it does not have."""
    for form in entry.forms:
        if name in (None, form.name):
            return form
    raise BadInput("pitfalls.unknown-form", pitfall=entry.id, form=name, known=", ".join(f.name for f in entry.forms))
