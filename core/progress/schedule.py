"""When cards come back: FSRS 6, from the library `fsrs`, without fuzz, so that a date can be computed again.

A card is a function of its log (all ratings with their times), of the last time it was made due, and of the desired
retention. Nothing else enters, so it can always be computed anew.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import fsrs

from core.progress.records import Rating, Review, State

RETENTION = 0.9
"""The chance of a right answer at which a card comes back, unless the person sets another (`desired_retention`)."""


class Logged(NamedTuple):
    """One entry of a card's log. Entries are taken in the order of (at, id)."""

    at: datetime
    id: str
    rating: Rating


def new(due: datetime) -> Review:
    """A card that was never answered."""
    return Review(
        due=due, state=State.Learning, step=0, stability=None, difficulty=None, last_review=None, reps=0, lapses=0
    )


def after(review: Review, rating: Rating, at: datetime, retention: float = RETENTION) -> Review:
    """The card after an answer rated `rating` at `at` (UTC, not before its last review)."""
    card, _ = _scheduler(retention).review_card(_card(review), rating, at)
    lapsed = review.state == State.Review and rating == Rating.Again
    return Review(
        due=card.due,
        state=card.state,
        step=card.step,
        stability=card.stability,
        difficulty=card.difficulty,
        last_review=card.last_review,
        reps=review.reps + 1,
        lapses=review.lapses + lapsed,
    )


def replay(log: Iterable[Logged], made_due: datetime | None, retention: float = RETENTION) -> Review | None:
    """The card that a log makes, in whatever order it is given; None where there is nothing to make one of."""
    review = None
    for entry in sorted(log):
        review = after(review or new(entry.at), entry.rating, entry.at, retention)
    return make_due(review, made_due) if made_due else review


def make_due(review: Review | None, at: datetime) -> Review:
    """The card due at `at`, unless it was answered since; a new one where there is none."""
    if review is None:
        return new(at)
    if review.last_review and review.last_review > at:
        return review
    return replace(review, due=at)


def retrievability(review: Review, now: datetime) -> float:
    """The chance, 0 … 1, of a right answer now; 0 for a card never answered."""
    return _scheduler(RETENTION).get_card_retrievability(_card(review), now)


@lru_cache(maxsize=16)
def _scheduler(retention: float) -> fsrs.Scheduler:
    return fsrs.Scheduler(desired_retention=retention, enable_fuzzing=False)


def _card(review: Review) -> fsrs.Card:
    return fsrs.Card(
        card_id=0,  # without one, the library makes one up from the clock, and waits
        state=review.state,
        step=review.step,
        stability=review.stability,
        difficulty=review.difficulty,
        due=review.due,
        last_review=review.last_review,
    )
