"""The tables. Every row belongs to a profile; what people make has an id of its own that no other store gives."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Double, ForeignKey, Index, String, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

VERSION_TABLE = "headwise_version"


class UtcDateTime(TypeDecorator[datetime]):
    """Aware of its time zone on both sides; SQLite keeps the bare UTC time, which sorts as text."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Json(TypeDecorator[Any]):
    """What JSON has, as ASCII text: SQLite would take the text 2.0 for a number in a column that it is told is JSON,
    and PostgreSQL takes no text with a zero character in it.
    """

    impl = Text
    cache_ok = True
    should_evaluate_none = True  # None is JSON's null, and no missing value

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class NameList(TypeDecorator[tuple[str, ...]]):
    """A few names, kept as a JSON list. The same lists come again and again, so they are read once."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str:
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...]:
        return _names(value or "[]")


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, str: String(200), float: Double, Any: Json}  # noqa: RUF012


class ProfileRow(Base):
    """Whose rows they are. A transaction that writes holds this row, so a profile has one writer at a time."""

    __tablename__ = "profiles"

    id: Mapped[str] = mapped_column(primary_key=True)


class _OfProfile:
    profile: Mapped[str] = mapped_column(ForeignKey("profiles.id", ondelete="CASCADE"), primary_key=True, sort_order=-1)


class AnswerRow(_OfProfile, Base):
    """An answer; with its card, rating and time it is also an entry of the card's log."""

    __tablename__ = "answers"
    __table_args__ = (
        Index("answers_by_time", "profile", "at", "id"),
        Index("answers_by_card", "profile", "card", "at", "id"),
        Index("answers_by_question", "profile", "question", "at", "id"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    question: Mapped[str]
    card: Mapped[str]
    given: Mapped[Any]
    right: Mapped[bool]
    seconds: Mapped[float]
    mode: Mapped[str]
    seed: Mapped[int | None] = mapped_column(BigInteger)
    pitfalls: Mapped[tuple[str, ...]] = mapped_column(NameList)
    topic: Mapped[str]
    kind: Mapped[str]
    level: Mapped[int]
    at: Mapped[datetime]
    rating: Mapped[int]
    rated_at: Mapped[datetime]


class CardRow(_OfProfile, Base):
    """What `schedule.replay` makes of the card's log and of `made_due`, kept because it is read all the time."""

    __tablename__ = "cards"
    __table_args__ = (Index("cards_by_due", "profile", "due"),)

    card: Mapped[str] = mapped_column(primary_key=True)
    due: Mapped[datetime]
    state: Mapped[int]
    step: Mapped[int | None]
    stability: Mapped[float | None]
    difficulty: Mapped[float | None]
    last_review: Mapped[datetime | None]
    reps: Mapped[int]
    lapses: Mapped[int]
    made_due: Mapped[datetime | None]


class SubmissionRow(_OfProfile, Base):
    __tablename__ = "submissions"
    __table_args__ = (Index("submissions_by_problem", "profile", "problem", "at", "id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    problem: Mapped[str]
    passed: Mapped[bool]
    pitfalls: Mapped[tuple[str, ...]] = mapped_column(NameList)
    mode: Mapped[str]
    at: Mapped[datetime]
    seconds: Mapped[float | None]
    source: Mapped[Any]  # as JSON, which has every character
    verdict: Mapped[Any]


class DraftRow(_OfProfile, Base):
    __tablename__ = "drafts"

    key: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[Any]  # as JSON, like a source
    at: Mapped[datetime]


class SettingRow(_OfProfile, Base):
    __tablename__ = "settings"

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any]
    at: Mapped[datetime]
