"""Dates are those of the library, and follow from the log alone."""

from datetime import timedelta
from itertools import pairwise

import fsrs
from hypothesis import given
from hypothesis import strategies as st

from core.progress import Rating, State, retrievability, schedule
from core.progress.schedule import Logged
from tests.core.progress.samples import DAY, NOW

ratings = st.sampled_from(list(Rating))
gaps = st.timedeltas(timedelta(seconds=1), timedelta(days=200))
retentions = st.sampled_from([0.7, 0.8, 0.9, 0.95])


@st.composite
def logs(draw: st.DrawFn) -> list[Logged]:
    entries, at = [], NOW
    for number in range(draw(st.integers(1, 12))):
        entries.append(Logged(at, f"{number:032x}", draw(ratings)))
        at += draw(gaps)
    return entries


def as_the_library_has_it(log: list[Logged], retention: float) -> fsrs.Card:
    scheduler = fsrs.Scheduler(desired_retention=retention, enable_fuzzing=False)
    card = fsrs.Card(card_id=1, due=log[0].at)
    for entry in log:
        card, _ = scheduler.review_card(card, entry.rating, entry.at)
    return card


@given(logs(), retentions)
def test_dates_are_those_of_the_library(log: list[Logged], retention: float) -> None:
    review = schedule.replay(log, None, retention)
    card = as_the_library_has_it(log, retention)
    assert review is not None
    assert (review.due, review.state, review.step) == (card.due, card.state, card.step)
    assert (review.stability, review.difficulty, review.last_review) == (
        card.stability,
        card.difficulty,
        card.last_review,
    )
    now = log[-1].at + 20 * DAY
    assert retrievability(review, now) == fsrs.Scheduler(enable_fuzzing=False).get_card_retrievability(card, now)


@given(logs(), st.randoms(), retentions)
def test_the_order_in_which_a_log_is_given_does_not_matter(log: list[Logged], chance, retention: float) -> None:
    mixed = list(log)
    chance.shuffle(mixed)
    assert schedule.replay(mixed, None, retention) == schedule.replay(log, None, retention)


@given(logs())
def test_one_answer_after_the_other_comes_to_the_same_as_all_at_once(log: list[Logged]) -> None:
    review = schedule.new(log[0].at)
    for entry in log:
        review = schedule.after(review, entry.rating, entry.at)
    assert review == schedule.replay(log, None)
    assert review.reps == len(log)


def test_a_lapse_is_a_card_forgotten_that_had_been_learnt() -> None:
    learnt = [Logged(NOW, "1", Rating.Easy), Logged(NOW + 30 * DAY, "2", Rating.Again)]
    never = [Logged(NOW, "1", Rating.Again), Logged(NOW + 30 * DAY, "2", Rating.Again)]
    reviews = [schedule.replay(log, None) for log in (learnt, never)]
    assert [review and review.lapses for review in reviews] == [1, 0]


def test_the_better_the_rating_the_later_the_card_comes_back() -> None:
    reviews = [schedule.after(schedule.new(NOW), rating, NOW) for rating in Rating]
    assert all(one.due < other.due for one, other in pairwise(reviews))


def test_made_due_counts_until_the_next_answer() -> None:
    log = [Logged(NOW, "1", Rating.Easy)]
    planned = schedule.replay(log, None)
    assert planned is not None
    made = schedule.replay(log, NOW + DAY)
    assert made is not None
    assert (made.due, planned.due > NOW + DAY) == (NOW + DAY, True)
    assert (made.stability, made.reps) == (planned.stability, planned.reps)  # only the date changes
    assert schedule.replay(log, NOW - DAY) == planned  # it was answered since
    new = schedule.replay([], NOW)
    assert new is not None
    assert (new.due, new.state, new.reps) == (NOW, State.Learning, 0)
    assert retrievability(new, NOW) == 0
    assert schedule.replay([], None) is None
