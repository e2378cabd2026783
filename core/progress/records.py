"""What the store takes and gives: immutable records. Their annotations are checked where something comes from outside:
what a page hands over, and every row of an imported file.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

from fsrs import Rating, State
from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, JsonValue, StringConstraints

MAX_TEXT = 1_000_000
"""Characters of a draft or of a submission's source."""
MAX_GIVEN = 20_000
"""Characters of an answer or a setting, written as JSON."""
MAX_VERDICT = 4_000_000
"""Characters of a verdict, written as JSON."""
YEARS = range(2000, 2200)


def _utc(time: datetime) -> datetime:
    if time.year not in YEARS:  # what lies far outside is a mistake, and near year 1 or 9999 nothing can be added
        raise ValueError(f"a year from {YEARS.start} to {YEARS.stop - 1} is expected")
    return time.astimezone(UTC)


def _at_most(limit: int) -> AfterValidator:
    def check(value: object) -> object:
        if len(json.dumps(value, allow_nan=False)) > limit:  # ValueError for nan and inf, which are no JSON
            raise ValueError(f"at most {limit} characters of JSON are kept")
        return value

    return AfterValidator(check)


Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=200)]
Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Utc = Annotated[AwareDatetime, AfterValidator(_utc)]
Seconds = Annotated[float, Field(ge=0, le=10_000_000, allow_inf_nan=False)]
LongText = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
SmallJson = Annotated[JsonValue, _at_most(MAX_GIVEN)]
Verdict = Annotated[dict[str, JsonValue], _at_most(MAX_VERDICT)]
Names = Annotated[tuple[Name, ...], Field(strict=False, max_length=100)]

STRICT = ConfigDict(strict=True, extra="forbid", revalidate_instances="always")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer as it was given.

    `card` is what is repeated: the id of the question, or of the generator that made it (`seed` then says which
    question it was). `given` is the answer as JSON has it. `kind` and `level` are the question's: the rating needs
    them. `at` is when it was given, aware of its time zone.
    """

    __pydantic_config__ = STRICT

    question: Name
    card: Name
    given: SmallJson
    right: bool
    seconds: Seconds
    mode: Name
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    pitfalls: Names = ()
    topic: Name
    kind: Name = "one-choice"
    level: Annotated[int, Field(ge=1, le=3)] = 1
    at: Utc


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(GivenAnswer):
    """An answer as it is kept. `rated_at`: when it got its rating, later than `at` where the person changed it."""

    id: Uuid
    rating: Rating
    rated_at: Utc


class Outcome(NamedTuple):
    """What figures are made of: an answer in short."""

    card: str
    topic: str
    right: bool
    pitfalls: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """When a card comes back, and what FSRS knows of it.

    `stability` is in days, `difficulty` from 1 to 10; both None before the first answer. `reps` counts answers,
    `lapses` those that forgot a card which had been learnt. `step` is that of the (re)learning steps.
    """

    due: datetime
    state: State
    step: int | None
    stability: float | None
    difficulty: float | None
    last_review: datetime | None
    reps: int
    lapses: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of an answer that is now kept."""

    answer_id: str
    rating: Rating
    review: Review


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A submission without its text: which problem, when, with which outcome.

    `pitfalls` are those found in it. `seconds` is how long the person had worked on it since the problem was opened or
    submitted before; None where nobody measured.
    """

    __pydantic_config__ = STRICT

    id: Uuid
    problem: Name
    passed: bool
    pitfalls: Names = ()
    mode: Name
    at: Utc
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(Attempt):
    """A submission as it is kept; `verdict` is the judge's, as JSON has it."""

    source: LongText
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A text that somebody was writing, and when it was last saved."""

    __pydantic_config__ = STRICT

    text: LongText
    at: Utc


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting, and when it was made."""

    __pydantic_config__ = STRICT

    value: SmallJson
    at: Utc


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, by part of the file (``answers``, ``submissions``, ``made_due``, ``drafts``, ``settings``).

    `added` counts what was new, or newer than what was here; `known` what was here already.
    """

    added: dict[str, int]
    known: dict[str, int]
