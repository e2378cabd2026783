"""From correctness and time to a rating, at the thresholds and beside them."""

import pytest

from core.progress import Rating, rate
from core.progress.rating import SECONDS
from core.quiz import kinds


@pytest.mark.parametrize("seconds", [0.0, 9.0, 10_000.0])
def test_a_wrong_answer_is_again_however_quick(seconds: float) -> None:
    assert rate(False, seconds, 1, "one-choice") == Rating.Again


@pytest.mark.parametrize(
    ("seconds", "level", "kind", "pace", "rating"),
    [
        (10.0, 1, "one-choice", 1.0, Rating.Easy),
        (10.1, 1, "one-choice", 1.0, Rating.Good),
        (40.0, 1, "one-choice", 1.0, Rating.Good),
        (40.1, 1, "one-choice", 1.0, Rating.Hard),
        (40.1, 2, "one-choice", 1.0, Rating.Good),  # a harder question may take longer
        (60.1, 2, "one-choice", 1.0, Rating.Hard),
        (20.0, 3, "one-choice", 1.0, Rating.Easy),
        (90.0, 1, "pairs", 1.0, Rating.Good),  # so may one with more to do
        (90.1, 1, "pairs", 1.0, Rating.Hard),
        (40.1, 1, "one-choice", 2.0, Rating.Good),  # and somebody who wants more time
        (10.0, 1, "one-choice", 0.5, Rating.Good),
        (15.0, 1, "a kind of tomorrow", 1.0, Rating.Easy),
    ],
)
def test_a_right_answer_is_held_against_the_time_it_may_take(
    seconds: float, level: int, kind: str, pace: float, rating: Rating
) -> None:
    assert rate(True, seconds, level, kind, pace) == rating


def test_every_kind_of_question_has_a_time() -> None:
    assert set(SECONDS) == set(kinds.KINDS)
