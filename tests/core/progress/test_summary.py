"""The figures of small histories, counted by hand."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from core.progress import Attempt, Outcome, Store, open_store, retrievability, schedule, summary
from core.progress.summary import History, Knowledge, Mistake, Streak
from tests.core.progress.samples import DAY, NOW, given

SHANGHAI = timezone(timedelta(hours=8))
NOTHING = History((), {}, ())


@dataclass(frozen=True)
class Asked:
    id: str
    topic: str
    pitfalls: tuple[str, ...] = ()


QUESTIONS = (
    Asked("a", "split", ("split-view-direct",)),
    Asked("b", "split", ("split-view-direct", "scale-missing")),
    Asked("c", "mask"),
)


def outcome(card: str, at: datetime = NOW, right: bool = True, pitfalls: tuple[str, ...] = ()) -> Outcome:
    return Outcome(card=card, topic="split", right=right, pitfalls=pitfalls, at=at)


def attempt(
    at: datetime,
    passed: bool = False,
    problem: str = "mha",
    pitfalls: tuple[str, ...] = (),
    seconds: float | None = None,
    mode: str = "write",
) -> Attempt:
    return Attempt(id="0" * 32, problem=problem, passed=passed, pitfalls=pitfalls, mode=mode, at=at, seconds=seconds)


def history(*outcomes: Outcome, attempts: tuple[Attempt, ...] = ()) -> History:
    """As a store gives it: the newest first, with the reviews that follow from right answers."""
    newest = sorted(outcomes, key=lambda one: one.at, reverse=True)
    reviews = {one.card: schedule.after(schedule.new(one.at), schedule.Rating.Easy, one.at) for one in newest}
    return History(tuple(newest), reviews, tuple(sorted(attempts, key=lambda one: one.at, reverse=True)))


def test_knowledge_by_topic() -> None:
    past = history(outcome("a", NOW - 9 * DAY), outcome("a", NOW - 9 * DAY, right=False), outcome("gone"))
    split, mask = summary.by_topic(past, QUESTIONS, NOW)
    chance = retrievability(past.reviews["a"], NOW)
    assert 0.5 < chance < 1
    assert split == Knowledge("split", cards=2, answered=1, known=chance / 2, answers=2, right=0.5)
    assert mask == Knowledge("mask", cards=1, answered=0, known=0.0, answers=0, right=None)


def test_knowledge_by_pitfall() -> None:
    past = history(outcome("b", NOW - DAY))
    chance = retrievability(past.reviews["b"], NOW)
    found = {one.group: (one.cards, one.answered, one.known) for one in summary.by_pitfall(past, QUESTIONS, NOW)}
    assert found == {"split-view-direct": (2, 1, chance / 2), "scale-missing": (1, 1, chance)}


def test_what_is_known_fades() -> None:
    past = history(outcome("a", NOW))
    known = [summary.by_topic(past, QUESTIONS, NOW + days * DAY)[0].known for days in (0, 10, 100)]
    assert known == sorted(known, reverse=True)
    assert known[0] > known[2]


def test_reviews_ahead() -> None:
    due = {"overdue": -5 * DAY, "today": timedelta(hours=2), "tomorrow": DAY, "last": 29 * DAY, "beyond": 30 * DAY}
    past = History((), {card: schedule.new(NOW + wait) for card, wait in due.items()}, ())
    ahead = summary.reviews_ahead(past, NOW, UTC)
    assert len(ahead) == 30
    assert {one.day: one.reviews for one in ahead if one.reviews} == {
        date(2026, 12, 1): 2,
        date(2026, 12, 2): 1,
        date(2026, 12, 30): 1,
    }
    assert sum(one.reviews for one in summary.reviews_ahead(past, NOW, UTC, among={"today"})) == 1
    # 9:00 + 15 h is already tomorrow eight hours to the east
    late = History((), {"late": schedule.new(NOW + timedelta(hours=8))}, ())
    assert [summary.reviews_ahead(late, NOW, zone)[0].reviews for zone in (UTC, SHANGHAI)] == [1, 0]


def test_answers_per_day() -> None:
    past = history(
        outcome("a"),
        outcome("b", NOW - timedelta(hours=1), right=False),
        outcome("c", NOW - 2 * DAY),
        outcome("d", NOW - 9 * DAY),
    )
    days = summary.answers_per_day(past, NOW, UTC, days=3)
    assert [(one.day.day, one.answers, one.right) for one in days] == [(29, 1, 1), (30, 0, 0), (1, 2, 1)]


@pytest.mark.parametrize(
    ("days_ago", "expected"),
    [
        ([], Streak(0, today=False, longest=0)),
        ([0], Streak(1, today=True, longest=1)),
        ([0, 0, 1, 2], Streak(3, today=True, longest=3)),
        ([1, 2], Streak(2, today=False, longest=2)),  # today is not over
        ([2, 3, 4], Streak(0, today=False, longest=3)),
        ([0, 2, 3], Streak(1, today=True, longest=2)),
    ],
)
def test_streak(days_ago: list[int], expected: Streak) -> None:
    past = history(*(outcome("a", NOW - days * DAY) for days in days_ago))
    assert summary.streak(past, NOW, UTC) == expected


def test_a_streak_is_one_of_the_persons_own_days() -> None:
    evening = NOW.replace(hour=17)  # the next day in Shanghai
    past = history(outcome("a", evening - DAY), outcome("a", NOW.replace(hour=1) - DAY))
    assert [summary.streak(past, NOW, zone).days for zone in (UTC, SHANGHAI)] == [1, 2]


def test_a_submission_counts_as_a_day() -> None:
    assert summary.streak(history(attempts=(attempt(NOW),)), NOW, UTC).days == 1


def test_series_of_attempts() -> None:
    minute = timedelta(minutes=1)
    past = history(
        attempts=(
            attempt(NOW),
            attempt(NOW + 3 * minute),
            attempt(NOW + 5 * minute, passed=True),
            attempt(NOW + DAY, passed=True, seconds=100.0),
            attempt(NOW + 2 * DAY, seconds=50.0),
            attempt(NOW + minute, problem="gqa", seconds=20.0),
            attempt(NOW + 2 * minute, mode="debug", passed=True, seconds=5.0),  # not the same task
        )
    )
    found = summary.series(past)
    assert list(found) == ["mha", "gqa"]
    assert [(one.mode, len(one.attempts), one.solved, one.seconds) for one in found["mha"]] == [
        ("write", 3, True, 300.0),
        ("debug", 1, True, 5.0),
        ("write", 1, True, 100.0),
        ("write", 1, False, 50.0),
    ]
    assert [one.at for one in found["mha"][0].attempts] == [NOW, NOW + 3 * minute, NOW + 5 * minute]


def test_mistakes_made_most() -> None:
    past = history(
        outcome("a", right=False, pitfalls=("scale-missing", "mask-inverted")),
        outcome("a", right=True, pitfalls=("split-view-direct",)),  # no mistake
        outcome("b", NOW - DAY, right=False, pitfalls=("merge-no-transpose",)),
        attempts=(
            attempt(NOW - 2 * DAY, pitfalls=("scale-missing", "scale-missing")),
            attempt(NOW + DAY, pitfalls=("mask-inverted",), passed=True),
            attempt(NOW, pitfalls=("softmax-missing",), mode=summary.REPAIRING),  # somebody else's
        ),
    )
    assert summary.mistakes(past) == (
        Mistake("mask-inverted", answers=1, submissions=1, last=NOW + DAY),
        Mistake("scale-missing", answers=1, submissions=1, last=NOW),
        Mistake("merge-no-transpose", answers=1, submissions=0, last=NOW - DAY),
    )
    assert [mistake.times for mistake in summary.mistakes(past, limit=1)] == [2]


def test_an_empty_history_has_empty_figures() -> None:
    assert summary.mistakes(NOTHING) == ()
    assert summary.series(NOTHING) == {}
    assert summary.by_topic(NOTHING, (), NOW) == ()
    assert {one.known for one in summary.by_topic(NOTHING, QUESTIONS, NOW)} == {0.0}
    assert sum(one.reviews for one in summary.reviews_ahead(NOTHING, NOW, UTC)) == 0
    assert sum(one.answers for one in summary.answers_per_day(NOTHING, NOW, UTC)) == 0


def test_a_history_is_read_from_a_store() -> None:
    store: Store = open_store("sqlite://")
    store.answer(given("a", right=False, pitfalls=("scale-missing",)))
    store.submit("mha", "pass", {}, False, ("scale-missing",), NOW, "write", 60.0)
    store.answer(given("b"))
    past = summary.read(store)
    assert [mistake.times for mistake in summary.mistakes(past)] == [2]
    assert summary.mistakes(summary.read_mistakes(store)) == summary.mistakes(past)
    assert [len(summary.read_mistakes(store).answers), len(past.answers)] == [1, 2]
    assert summary.by_topic(past, QUESTIONS, NOW)[0].answered == 2
    assert summary.series(past)["mha"][0].seconds == 60.0
    store.close()
