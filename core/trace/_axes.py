"""The meaning of an axis as a value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """What one axis of a tensor means.

    `parts` are the meanings it is made of, the slowest varying first: ``("L",)``, ``("H", "d_h")``. `mixed` says
    that the meanings cannot be told apart along this axis alone: some meaning changes along another axis too.
    An axis without parts is of size 1 and new (``1``); one that nobody can name has the part ``unknown``.
    `alias` is the declared name of the whole product (``d_model`` for ``H·d_h`` of the input).
    """

    parts: tuple[str, ...]
    mixed: bool = False
    alias: str | None = None

    def __str__(self) -> str:
        name = self.alias or "·".join(self.parts) or "1"
        return f"{name} mixed" if self.mixed else name

    @property
    def known(self) -> bool:
        return UNKNOWN.parts[0] not in self.parts


UNKNOWN = Axis(("unknown",))
