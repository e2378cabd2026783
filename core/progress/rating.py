"""From an answer to one of FSRS's four ratings."""

from fsrs import Rating

SECONDS = {
    "one-choice": 20.0,
    "raises": 20.0,
    "shape": 25.0,
    "strides": 30.0,
    "several-choices": 30.0,
    "faulty-line": 30.0,
    "number": 40.0,
    "blank": 40.0,
    "order": 45.0,
    "pairs": 45.0,
}
"""How long a question of level 1 takes somebody who knows it, by kind, reading included."""
OTHER_KIND = 30.0
LEVELS = {1: 1.0, 2: 1.5, 3: 2.0}
"""What a level makes of that time."""
FAST, SLOW = 0.5, 2.0


def rate(right: bool, seconds: float, level: int, kind: str, pace: float = 1.0) -> Rating:
    """The rating of an answer that took `seconds`.

    A wrong answer is Again. A right one is held against the time that its kind and level allow (`SECONDS` × `LEVELS`,
    times `pace`: the person's own setting, 2.0 for somebody who wants twice the time): Easy up to half of it, Hard
    beyond twice of it, Good between. For a question of level 1 with one choice: Easy up to 10 s, Hard beyond 40 s.
    """
    if not right:
        return Rating.Again
    allowed = SECONDS.get(kind, OTHER_KIND) * LEVELS.get(level, 1.0) * pace
    if seconds <= FAST * allowed:
        return Rating.Easy
    return Rating.Hard if seconds > SLOW * allowed else Rating.Good
