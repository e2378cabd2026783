"""The cards of a profile, inside a transaction that somebody else opened."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.progress import schedule
from core.progress._tables import AnswerRow, CardRow, SettingRow
from core.progress.records import Rating, Review, State
from core.progress.schedule import Logged

MANY = 500
"""From how many on, everything is read and sorted out here, rather than named one by one in the question."""

_FIELDS = Review.__slots__


def review_of(row: CardRow) -> Review:
    values: dict[str, Any] = {name: getattr(row, name) for name in _FIELDS}
    values["state"] = State(row.state)
    return Review(**values)


def preferences(session: Session, profile: str) -> dict[str, float]:
    """What the person set of `pace` and `desired_retention`, with the defaults where nothing was set."""
    defaults = {"pace": 1.0, "desired_retention": schedule.RETENTION}
    query = select(SettingRow.key, SettingRow.value).where(SettingRow.profile == profile, SettingRow.key.in_(defaults))
    return defaults | dict(iter(session.execute(query)))


def answered(session: Session, profile: str, card: str, entry: Logged, retention: float) -> Review:
    """The card after an answer that is in the log already."""
    row = session.get(CardRow, (profile, card))
    if row is not None and row.last_review is not None and entry.at <= row.last_review:
        return recompute(session, profile, [card], retention)[card]  # an answer from before the newest one
    before = review_of(row) if row is not None else schedule.new(entry.at)
    review = schedule.after(before, entry.rating, entry.at, retention)
    made_due = row.made_due if row is not None else None
    if made_due is not None:
        review = schedule.make_due(review, made_due)
    _keep(session, row or CardRow(profile=profile, card=card), review, made_due)
    return review


def make_due(session: Session, profile: str, times: Mapping[str, datetime]) -> None:
    rows = _rows(session, profile, times)
    for card, at in times.items():
        row = rows.get(card)
        before = review_of(row) if row is not None else None
        newest = max(at, row.made_due) if row is not None and row.made_due is not None else at
        _keep(session, row or CardRow(profile=profile, card=card), schedule.make_due(before, newest), newest)


def recompute(session: Session, profile: str, cards: Collection[str] | None, retention: float) -> dict[str, Review]:
    """Make the cards (all, where None) anew from their logs."""
    rows = _rows(session, profile, cards)
    query = select(AnswerRow.card, AnswerRow.at, AnswerRow.id, AnswerRow.rating).where(AnswerRow.profile == profile)
    if cards is not None and len(cards) <= MANY:
        query = query.where(AnswerRow.card.in_(cards))
    logs: dict[str, list[Logged]] = defaultdict(list)
    for card, at, id_, rating in session.execute(query):
        logs[card].append(Logged(at, id_, Rating(rating)))
    reviews = {}
    for card in cards if cards is not None else rows.keys() | logs.keys():
        row = rows.get(card) or CardRow(profile=profile, card=card)
        review = schedule.replay(logs[card], row.made_due, retention)
        if review is not None:
            reviews[card] = review
            _keep(session, row, review, row.made_due)
    return reviews


def _rows(session: Session, profile: str, cards: Collection[str] | None) -> dict[str, CardRow]:
    query = select(CardRow).where(CardRow.profile == profile)
    if cards is not None and len(cards) <= MANY:
        query = query.where(CardRow.card.in_(cards))
    return {row.card: row for row in session.scalars(query)}


def _keep(session: Session, row: CardRow, review: Review, made_due: datetime | None) -> None:
    for name in _FIELDS:
        setattr(row, name, getattr(review, name))
    row.made_due = made_due
    session.add(row)
