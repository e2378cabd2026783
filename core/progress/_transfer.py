"""One profile as one JSON document, and back."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, ValidationError
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from core.errors import BadInput
from core.progress import _cards
from core.progress._checks import adapter, check_setting, place_and_reason
from core.progress._tables import AnswerRow, Base, CardRow, DraftRow, SettingRow, SubmissionRow
from core.progress.records import (
    STRICT,
    Answer,
    Draft,
    Imported,
    Name,
    Rating,
    Setting,
    State,
    Submission,
    Utc,
)

FORMAT = "headwise-progress"
VERSION = 1
MAX_CHARACTERS = 100_000_000
"""Of a file that is imported: ten thousand answers are four millions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What is exported. Cards are not in it: they are made anew from the answers and from when they were made due."""

    __pydantic_config__ = STRICT

    format: Literal["headwise-progress"]
    version: Literal[1]
    answers: tuple[Answer, ...]
    submissions: tuple[Submission, ...]
    made_due: dict[Name, Utc]
    drafts: dict[Name, Draft]
    settings: dict[Name, Setting]


# Rows and records ----------------------------------------------------------------------------------------------------

Record = TypeVar("Record")


@cache
def names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def values(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names(type(record))}


def row(record: Any, profile: str) -> dict[str, Any]:
    """A record as the columns of its table."""
    return {"profile": profile} | values(record)


def columns(table: type[Base], kind: type) -> list[Any]:
    """The columns of `table` that make a record of `kind`."""
    return [getattr(table, name) for name in names(kind)]


def record(kind: type[Record], found: Any) -> Record:
    """A record, of a row of `columns`."""
    given = dict(zip(names(kind), found, strict=True))
    for name, make in (("rating", Rating), ("state", State)):
        if name in given:
            given[name] = make(given[name])
    return kind(**given)


# Export --------------------------------------------------------------------------------------------------------------


def export(session: Session, profile: str) -> str:
    def all_of(table: Any, kind: type[Record], *order: Any) -> list[Any]:
        query = select(*columns(table, kind)).where(table.profile == profile).order_by(*order)
        return [record(kind, found) for found in session.execute(query)]

    def by_key(table: Any, kind: type[Record]) -> dict[str, Record]:
        query = select(table.key, *columns(table, kind)).where(table.profile == profile).order_by(table.key)
        return {key: record(kind, found) for key, *found in session.execute(query)}

    due = select(CardRow.card, CardRow.made_due).where(CardRow.profile == profile, CardRow.made_due.is_not(None))
    document = Document(
        format=FORMAT,
        version=VERSION,
        answers=tuple(all_of(AnswerRow, Answer, AnswerRow.at, AnswerRow.id)),
        submissions=tuple(all_of(SubmissionRow, Submission, SubmissionRow.at, SubmissionRow.id)),
        made_due=dict(sorted(session.execute(due))),
        drafts=dict(sorted(by_key(DraftRow, Draft).items())),
        settings=dict(sorted(by_key(SettingRow, Setting).items())),
    )
    return adapter(Document).dump_json(document, indent=1).decode()


# Import --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Head:
    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    format: Literal["headwise-progress"]
    version: int


def read(text: str) -> Document:
    """The document in `text`. Raises BadInput, with the place and the reason, for anything else."""
    if len(text) > MAX_CHARACTERS:
        raise BadInput("progress.import-too-large", size=len(text) // 1_000_000, limit=MAX_CHARACTERS // 1_000_000)
    try:
        head = adapter(_Head).validate_json(text)
    except (ValidationError, ValueError):
        raise BadInput("progress.import-foreign") from None
    if head.version > VERSION:
        raise BadInput("progress.import-newer", version=head.version, ours=VERSION)
    try:
        document = adapter(Document).validate_json(text)
    except ValidationError as error:
        field, detail = place_and_reason(error)
        raise BadInput("progress.import-invalid", field=field, detail=detail) from None
    for key, setting in document.settings.items():
        check_setting(key, setting.value)
    return document


def merge(session: Session, profile: str, document: Document) -> Imported:
    """Put a document into the rows of a profile: what is new is added, what is newer than ours is taken over."""
    before = _cards.preferences(session, profile)["desired_retention"]
    counts = {
        "settings": _newest(session, SettingRow, profile, document.settings),
        "drafts": _newest(session, DraftRow, profile, document.drafts),
        "submissions": _submissions(session, profile, document.submissions),
    }
    counts["answers"], touched = _answers(session, profile, document.answers)
    counts["made_due"] = _made_due(session, profile, document.made_due)
    session.flush()
    retention = _cards.preferences(session, profile)["desired_retention"]
    _cards.recompute(session, profile, touched if retention == before else None, retention)
    parts = sorted(counts)
    return Imported({part: counts[part][0] for part in parts}, {part: counts[part][1] for part in parts})


Counts = tuple[int, int]  # added, known


def _newest(session: Session, table: Any, profile: str, records: Mapping[str, Draft | Setting]) -> Counts:
    ours = {found.key: found for found in session.scalars(select(table).where(table.profile == profile))}
    newer = {key: value for key, value in records.items() if key not in ours or value.at > ours[key].at}
    for key, value in newer.items():
        session.merge(table(key=key, **row(value, profile)))
    return len(newer), len(records) - len(newer)


def _submissions(session: Session, profile: str, submissions: tuple[Submission, ...]) -> Counts:
    ours = set(session.scalars(select(SubmissionRow.id).where(SubmissionRow.profile == profile)))
    new = {submission.id: submission for submission in submissions if submission.id not in ours}
    if new:
        session.execute(insert(SubmissionRow), [row(submission, profile) for submission in new.values()])
    return len(new), len(submissions) - len(new)


def _answers(session: Session, profile: str, answers: tuple[Answer, ...]) -> tuple[Counts, set[str]]:
    """Of an answer that is here, only the rating can be newer. Also gives the cards whose logs have changed."""
    query = select(AnswerRow.id, AnswerRow.card, AnswerRow.rated_at, AnswerRow.rating)
    ours = {id_: (card, rated) for id_, card, *rated in session.execute(query.where(AnswerRow.profile == profile))}
    new: dict[str, Answer] = {}
    newer: dict[str, Answer] = {}
    touched: set[str] = set()
    for answer in answers:
        if answer.id not in ours:
            known = new.setdefault(answer.id, answer)
            touched.add(known.card)
            continue
        card, rated = ours[answer.id]
        if [answer.rated_at, answer.rating.value] > rated:
            newer[answer.id] = answer
            touched.add(card)
    if new:
        session.execute(insert(AnswerRow), [row(answer, profile) for answer in new.values()])
    if newer:
        changes = [
            {"profile": profile, "id": id_, "rating": answer.rating, "rated_at": answer.rated_at}
            for id_, answer in newer.items()
        ]
        session.execute(update(AnswerRow), changes)
    added = len(new) + len(newer)
    return (added, len(answers) - added), touched


def _made_due(session: Session, profile: str, times: Mapping[str, datetime]) -> Counts:
    query = select(CardRow.card, CardRow.made_due).where(CardRow.profile == profile, CardRow.made_due.is_not(None))
    ours = dict(iter(session.execute(query)))
    newer = {card: at for card, at in times.items() if card not in ours or at > ours[card]}
    _cards.make_due(session, profile, newer)
    return len(newer), len(times) - len(newer)
