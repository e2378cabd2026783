"""Drawing sizes so that a seed gives the same ones in every process, on every version of Python."""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Sizes = dict[str, Any]
"""What fills the placeholders of a template."""


class Draw:
    """Draws from `seed`. Only ``random()`` is promised to give the same numbers for ever, so all comes from it."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def one(self, *values: T) -> T:
        """One of `values`."""
        return values[int(self._random() * len(values))]

    def within(self, first: int, last: int) -> int:
        """A whole number from `first` to `last`, both included."""
        return first + int(self._random() * (last - first + 1))

    def some(self, values: Sequence[T], count: int) -> list[T]:
        """`count` of `values`, in the order in which they were drawn."""
        left = list(values)
        return [left.pop(int(self._random() * len(left))) for _ in range(count)]

    def shuffled(self, values: Sequence[T]) -> list[T]:
        return self.some(values, len(values))
