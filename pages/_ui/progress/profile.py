"""What the page is drawn from: the history of the profile, the cards there are, now, and the time zone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from core import pitfalls
from core.progress import summary
from core.progress.summary import Ahead, Done, History, Knowledge, Mistake, Streak
from core.quiz import Bank, generators, load_bank
from core.quiz.generators import Generator
from core.quiz.schema import Question
from pages._ui import cache
from pages._ui.i18n import lang

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class Profile:
    """One reading of the store. It is shared by sessions, and so are the figures that were drawn of it.

    `now` may be some minutes ago, in which nothing was done.
    """

    history: History
    now: datetime
    zone: tzinfo
    _drawn: dict[tuple[str, str], "Figure"] = field(default_factory=dict)

    def figure(self, name: str, draw: "Callable[[], Figure]") -> "Figure":
        """The figure `name` in the language of this session, drawn once: Plotly takes its time."""
        key = (name, lang())
        if key not in self._drawn:
            self._drawn[key] = draw()
        return self._drawn[key]

    @property
    def bank(self) -> Bank:
        return load_bank()

    @property
    def empty(self) -> bool:
        return not (self.history.answers or self.history.attempts or self.history.reviews)

    @cached_property
    def cards(self) -> tuple[Question | Generator, ...]:
        """Whatever comes back: the written questions and the generators."""
        return (*self.bank.questions, *generators.GENERATORS.values())

    @cached_property
    def topics(self) -> dict[str, Knowledge]:
        """By topic, in the order in which they are taught."""
        found = {known.group: known for known in summary.by_topic(self.history, self.cards, self.now)}
        return {topic.id: found[topic.id] for topic in self.bank.topics if topic.id in found}

    @cached_property
    def levels(self) -> dict[tuple[str, int], Knowledge]:
        """By topic and level."""
        return {
            (known.group, level): known
            for level in LEVELS
            for known in summary.by_topic(self.history, [card for card in self.cards if card.level == level], self.now)
        }

    @cached_property
    def pitfalls(self) -> dict[str, Knowledge]:
        """By pitfall, those that questions ask about."""
        known = summary.by_pitfall(self.history, self.cards, self.now)
        return {one.group: one for one in known if one.group in pitfalls.IDS}

    @cached_property
    def mistakes(self) -> tuple[Mistake, ...]:
        """The ten made most."""
        return summary.mistakes(self.history)

    @cached_property
    def ahead(self) -> tuple[Ahead, ...]:
        """What comes back in the next 30 days."""
        return summary.reviews_ahead(self.history, self.now, self.zone, among=[card.id for card in self.cards])

    @cached_property
    def done(self) -> tuple[Done, ...]:
        """The answers of the last 30 days."""
        return summary.answers_per_day(self.history, self.now, self.zone)

    @cached_property
    def streak(self) -> Streak:
        """The days in a row."""
        return summary.streak(self.history, self.now, self.zone)

    @cached_property
    def right(self) -> float:
        """The share of answers that were right; 0 where there are none."""
        return sum(answer.right for answer in self.history.answers) / max(1, len(self.history.answers))

    def due(self, now: datetime) -> int:
        """How many cards are due at `now`."""
        ids = {card.id for card in self.cards}
        return sum(card in ids and review.due <= now for card, review in self.history.reviews.items())


def read() -> Profile:
    """The profile as it is now. Raises Unavailable where the store cannot be read."""
    return cache.profile(datetime.now(UTC), _zone())


def _zone() -> tzinfo:
    """The browser's time zone, or this computer's: a day ends when the person's does."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or UTC
