"""Figures of what a person did: pure functions of a `History`, for a page to draw.

    history = read(store)
    by_topic(history, questions, now)

`questions` are whatever has an id, a topic and pitfalls: written questions and generators, each a card.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Protocol

from core.progress.records import Attempt, Outcome, Review
from core.progress.schedule import retrievability

if TYPE_CHECKING:
    from core.progress.store import Store


REPAIRING = "debug"
"""The mode of submissions that began with code in which others made mistakes."""


class Askable(Protocol):
    """What a card is about."""

    @property
    def id(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def pitfalls(self) -> Collection[str]: ...


@dataclass(frozen=True, slots=True)
class History:
    """Everything that the figures are made of; answers and attempts the newest first."""

    answers: tuple[Outcome, ...]
    reviews: Mapping[str, Review]
    attempts: tuple[Attempt, ...]


def read(store: "Store") -> History:
    """The history of the store's profile. Raises Unavailable where it cannot be read."""
    return History(store.outcomes(), store.reviews(), store.attempts())


def read_mistakes(store: "Store") -> History:
    """Of the history only what `mistakes` looks at, in a fraction of the time. Raises Unavailable."""
    return History(store.outcomes(right=False), {}, store.attempts())


# What is known -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How well a topic, or a pitfall, is known.

    `known`, 0 … 1: the share of its `cards` that would be answered rightly now, by FSRS; a card never answered counts
    as unknown. `answered` of the cards were answered at least once. `answers` is how often, `right` the share (0 … 1)
    of these that were right, None where there are none.
    """

    group: str
    cards: int
    answered: int
    known: float
    answers: int
    right: float | None


def by_topic(history: History, questions: Iterable[Askable], now: datetime) -> tuple[Knowledge, ...]:
    """How well each topic of `questions` is known, in their order."""
    return _by(history, questions, now, lambda question: [question.topic])


def by_pitfall(history: History, questions: Iterable[Askable], now: datetime) -> tuple[Knowledge, ...]:
    """How well each pitfall that `questions` name is known, in their order."""
    return _by(history, questions, now, lambda question: question.pitfalls)


def _by(
    history: History, questions: Iterable[Askable], now: datetime, groups_of: Callable[[Askable], Collection[str]]
) -> tuple[Knowledge, ...]:
    cards: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        for group in groups_of(question):
            cards[group].append(question.id)
    answers = Counter(answer.card for answer in history.answers)
    right = Counter(answer.card for answer in history.answers if answer.right)
    chances = {card: retrievability(review, now) for card, review in history.reviews.items()}
    found = []
    for group, ids in cards.items():
        n_answers = sum(answers[card] for card in ids)
        found.append(
            Knowledge(
                group=group,
                cards=len(ids),
                answered=sum(answers[card] > 0 for card in ids),
                known=sum(chances.get(card, 0.0) for card in ids) / len(ids),
                answers=n_answers,
                right=sum(right[card] for card in ids) / n_answers if n_answers else None,
            )
        )
    return tuple(found)


# Days ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ahead:
    """How many cards come back on a day."""

    day: date
    reviews: int


@dataclass(frozen=True, slots=True)
class Done:
    """How many answers were given on a day, and how many of them were right."""

    day: date
    answers: int
    right: int


@dataclass(frozen=True, slots=True)
class Streak:
    """`days` in a row with at least one answer or submission, up to today; up to yesterday where `today` has none yet.

    `longest` is the longest such row ever.
    """

    days: int
    today: bool
    longest: int


def reviews_ahead(
    history: History, now: datetime, zone: tzinfo, days: int = 30, among: Collection[str] | None = None
) -> tuple[Ahead, ...]:
    """The cards that come back on each of the next `days` days in `zone`; what is overdue counts for today."""
    today = _day(now, zone)
    wanted = None if among is None else set(among)
    due = Counter(
        max(_day(review.due, zone), today)
        for card, review in history.reviews.items()
        if wanted is None or card in wanted
    )
    return tuple(Ahead(day, due[day]) for day in (today + timedelta(i) for i in range(days)))


def answers_per_day(history: History, now: datetime, zone: tzinfo, days: int = 30) -> tuple[Done, ...]:
    """The answers on each of the last `days` days in `zone`, today the last."""
    today = _day(now, zone)
    given = Counter(_day(answer.at, zone) for answer in history.answers)
    right = Counter(_day(answer.at, zone) for answer in history.answers if answer.right)
    past = (today - timedelta(i) for i in reversed(range(days)))
    return tuple(Done(day, given[day], right[day]) for day in past)


def streak(history: History, now: datetime, zone: tzinfo) -> Streak:
    """The days in a row, in `zone`, on which something was done."""
    done = {_day(act.at, zone) for acts in (history.answers, history.attempts) for act in acts}
    today = _day(now, zone)
    end = today if today in done else today - timedelta(1)
    rows = {}  # the length of the row that ends on a day
    for day in sorted(done):
        rows[day] = rows.get(day - timedelta(1), 0) + 1
    return Streak(rows.get(end, 0), today in done, max(rows.values(), default=0))


def _day(time: datetime, zone: tzinfo) -> date:
    return time.astimezone(zone).date()


# Submissions and mistakes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Series:
    """The attempts at a problem in one mode, the oldest first, up to the first right one; the last may be without one.

    `seconds` is the time they took together: what was measured, and where nothing was, the time since the attempt
    before (0 for the first).
    """

    problem: str
    mode: str
    attempts: tuple[Attempt, ...]
    solved: bool
    seconds: float


def series(history: History) -> dict[str, tuple[Series, ...]]:
    """By problem, in the order in which they were begun: all series of attempts, the oldest first."""
    begun: list[list[Attempt]] = []
    open_: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in reversed(history.attempts):
        key = (attempt.problem, attempt.mode)
        if key not in open_:
            begun.append(open_.setdefault(key, []))
        open_[key].append(attempt)
        if attempt.passed:
            del open_[key]
    found: dict[str, tuple[Series, ...]] = {}
    for attempts in begun:
        found[attempts[0].problem] = (*found.get(attempts[0].problem, ()), _series(attempts))
    return found


def _series(attempts: list[Attempt]) -> Series:
    seconds = 0.0
    for before, attempt in zip([attempts[0], *attempts], attempts, strict=False):
        measured = attempt.seconds
        seconds += (attempt.at - before.at).total_seconds() if measured is None else measured
    return Series(attempts[0].problem, attempts[0].mode, tuple(attempts), attempts[-1].passed, seconds)


@dataclass(frozen=True, slots=True)
class Mistake:
    """How often a pitfall was fallen into: in wrong answers about it, and in submissions; when it was last."""

    pitfall: str
    answers: int
    submissions: int
    last: datetime

    @property
    def times(self) -> int:
        return self.answers + self.submissions


def mistakes(history: History, limit: int = 10) -> tuple[Mistake, ...]:
    """The pitfalls fallen into most often, the worst first; of two alike, the one that was last.

    Submissions in the mode `REPAIRING` do not count: the mistakes in these were put there by somebody else.
    """
    attempts = [attempt for attempt in history.attempts if attempt.mode != REPAIRING]
    wrong = [answer for answer in history.answers if not answer.right]
    in_answers = Counter(pitfall for answer in wrong for pitfall in set(answer.pitfalls))
    in_attempts = Counter(pitfall for attempt in attempts for pitfall in set(attempt.pitfalls))
    last: dict[str, datetime] = {}
    for act in (*wrong, *attempts):
        for pitfall in act.pitfalls:
            last[pitfall] = max(act.at, last.get(pitfall, act.at))
    found = [Mistake(pitfall, in_answers[pitfall], in_attempts[pitfall], at) for pitfall, at in last.items()]
    found.sort(key=lambda mistake: mistake.pitfall)
    found.sort(key=lambda mistake: (mistake.times, mistake.last), reverse=True)
    return tuple(found[:limit])
