"""Puts mistakes into the source of a reference, and says on which lines they stand."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import BadInput
from core.pitfalls._catalogue import form_of
from core.pitfalls._references import Reference, reference
from core.pitfalls.schema import Change, Entry


@dataclass(frozen=True)
class Lines:
    """Lines of a source, from 1, both inclusive; where whole lines were taken out, `last` is one less than `first`."""

    first: int
    last: int


@dataclass(frozen=True)
class Changed:
    """A reference with changes in it. `lines` has one stretch for each change, in the order of the text, in `source`;
    `right_lines` are the same stretches in the reference. Without changes it is the reference itself."""

    reference: Reference
    source: str
    filename: str
    lines: tuple[Lines, ...] = ()
    right_lines: tuple[Lines, ...] = ()


def unchanged(name: str) -> Changed:
    """The reference called `name` as it stands, to be run or traced beside a changed one."""
    right = reference(name)
    return Changed(right, right.source, right.filename)


def change(name: str, changes: Iterable[Change], *, label: str = "changed") -> Changed:
    """Make `changes`, in any order, in the reference called `name`; `label` goes into the file name of the result.

    Changes of several mistakes can be made at once. Raises BadInput where a `right` text does not stand exactly once
    in the reference, and where two changes overlap.
    """
    right = reference(name)
    places = []
    for one in changes:
        if right.source.count(one.right) != 1:
            times = right.source.count(one.right)
            raise BadInput("pitfalls.not-once", text=one.right, times=times, reference=name)
        places.append((right.source.index(one.right), one))
    places.sort(key=lambda place: place[0])
    source, end = "", 0
    lines, right_lines = [], []
    for start, one in places:
        if start < end:
            raise BadInput("pitfalls.changes-overlap", text=one.right, reference=name)
        source += right.source[end:start]
        lines.append(_lines(source, one.wrong))
        right_lines.append(_lines(right.source[:start], one.right))
        source += one.wrong
        end = start + len(one.right)
    source += right.source[end:]
    return Changed(right, source, f"<{name} · {label}>", tuple(lines), tuple(right_lines))


def apply(entry: Entry, *, form: str | None = None, reference: str | None = None) -> Changed:
    """The reference with the mistake in it: the first form's home, or what is named.

    Raises BadInput for a form that the entry does not have, and a reference that the form is not declared for.
    """
    chosen = form_of(entry, form)
    name = reference or chosen.references[0]
    if name not in chosen.references:
        raise BadInput("pitfalls.not-in-reference", pitfall=entry.id, name=name, known=", ".join(chosen.references))
    return change(name, chosen.changes, label=entry.id)


def _lines(before: str, text: str) -> Lines:
    """The lines that `text` covers where it follows `before`."""
    first = before.count("\n") + 1
    if not text and before.endswith("\n"):
        return Lines(first, first - 1)
    return Lines(first, first + text.removesuffix("\n").count("\n"))
