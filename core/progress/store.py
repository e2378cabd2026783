"""The store: everything that one profile did, and when its cards come back."""

import uuid
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session, aliased

from core.errors import BadInput, Explained
from core.progress import _cards, _transfer
from core.progress._checks import check_setting, checked
from core.progress._database import Database
from core.progress._tables import AnswerRow, CardRow, DraftRow, SettingRow, SubmissionRow
from core.progress.rating import rate
from core.progress.records import (
    Answer,
    Attempt,
    Draft,
    GivenAnswer,
    Imported,
    Name,
    Outcome,
    Rating,
    Recorded,
    Review,
    Setting,
    Submission,
    Utc,
)
from core.progress.schedule import Logged


class Store:
    """What a profile did. Threads may share it.

    What writes is on the disk when it returns, or raises Unavailable and has changed nothing; what reads raises
    Unavailable where the database cannot be read. BadInput is raised for what cannot be kept. No method sees or
    changes what is another profile's. A time that is not given is now.
    """

    def __init__(self, database: Database, profile: str, notices: tuple[Explained, ...] = ()) -> None:
        self._database = database
        self.profile = profile
        self.notices = notices
        """What had to be done, or could not be, when the store was opened; to be told to the person."""

    @property
    def place(self) -> str | None:
        """The file, or the server's URL without its password; None where all is lost with the process."""
        return self._database.place or None

    def of(self, profile: str) -> "Store":
        """The store of another profile in the same database."""
        return Store(self._database, checked(Name, profile, "profile"), self.notices)

    def close(self) -> None:
        """Close the connections, also those of `of`: what is in memory only is gone."""
        self._database.engine.dispose()

    # Answers and reviews

    def answer(self, given: GivenAnswer) -> Recorded:
        """Keep an answer, and review its card with the rating that `rate` gives it; the setting `pace` counts."""
        given = checked(GivenAnswer, given)
        id_ = uuid.uuid4().hex
        with self._database.writing(self.profile) as session:
            prefer = _cards.preferences(session, self.profile)
            rating = rate(given.right, given.seconds, given.level, given.kind, prefer["pace"])
            answer = Answer(**_transfer.values(given), id=id_, rating=rating, rated_at=given.at)
            session.execute(insert(AnswerRow), _transfer.row(answer, self.profile))
            entry = Logged(given.at, id_, rating)
            review = _cards.answered(session, self.profile, given.card, entry, prefer["desired_retention"])
        return Recorded(id_, rating, review)

    def regrade(self, answer_id: str, rating: Rating, at: datetime | None = None) -> Review:
        """Change the rating of an answer: its card is made anew from its log. Raises BadInput for no answer of ours."""
        with self._database.writing(self.profile) as session:
            row = session.get(AnswerRow, (self.profile, answer_id))
            if row is None:
                raise BadInput("progress.unknown-answer", answer=answer_id[:40])
            row.rating = checked(Rating, rating, "rating")
            row.rated_at = _time(at)
            session.flush()
            retention = _cards.preferences(session, self.profile)["desired_retention"]
            return _cards.recompute(session, self.profile, [row.card], retention)[row.card]

    def answers(
        self, question: str | None = None, since: datetime | None = None, limit: int | None = None
    ) -> tuple[Answer, ...]:
        """The answers, the newest first: to one question or to all, from `since` on, at most `limit`."""
        query = select(*_transfer.columns(AnswerRow, Answer)).where(AnswerRow.profile == self.profile)
        if question is not None:
            query = query.where(AnswerRow.question == question)
        if since is not None:
            query = query.where(AnswerRow.at >= since)
        query = query.order_by(AnswerRow.at.desc(), AnswerRow.id.desc()).limit(limit)
        with self._database.reading() as session:
            return tuple(_transfer.record(Answer, found) for found in session.execute(query))

    def outcomes(self, right: bool | None = None) -> tuple[Outcome, ...]:
        """All answers in short (the right ones, or the wrong ones), the newest first: quicker than `answers`."""
        query = select(*(getattr(AnswerRow, name) for name in Outcome._fields)).where(AnswerRow.profile == self.profile)
        if right is not None:
            query = query.where(AnswerRow.right == right)
        with self._database.reading() as session:
            found = session.execute(query.order_by(AnswerRow.at.desc(), AnswerRow.id.desc()))
            return tuple(map(Outcome._make, found))

    def last_answers(self, cards: Collection[str] | None = None) -> dict[str, Answer]:
        """The newest answer of each of `cards` (all, where None) that has one, by card."""
        newest = aliased(AnswerRow)
        last = (  # one step in an index for each card, however many answers there are
            select(newest.id)
            .where(newest.profile == CardRow.profile, newest.card == CardRow.card)
            .order_by(newest.at.desc(), newest.id.desc())
            .limit(1)
            .scalar_subquery()
        )
        query = (
            select(*_transfer.columns(AnswerRow, Answer))
            .select_from(CardRow)
            .join(AnswerRow, (AnswerRow.profile == CardRow.profile) & (AnswerRow.id == last))
            .where(CardRow.profile == self.profile)
        )
        if cards is not None and len(cards) <= _cards.MANY:
            query = query.where(CardRow.card.in_(cards))
        with self._database.reading() as session:
            found = [_transfer.record(Answer, row) for row in session.execute(query)]
        wanted = None if cards is None else set(cards)
        return {answer.card: answer for answer in found if wanted is None or answer.card in wanted}

    def reviews(self) -> dict[str, Review]:
        """What is known of each card that was ever answered or made due."""
        query = select(CardRow.card, *_transfer.columns(CardRow, Review)).where(CardRow.profile == self.profile)
        with self._database.reading() as session:
            return {card: _transfer.record(Review, found) for card, *found in session.execute(query)}

    def due(self, now: datetime, among: Collection[str] | None = None) -> list[str]:
        """The cards that are due at `now`, the longest overdue first: all of them, or those `among` some."""
        query = select(CardRow.card).where(CardRow.profile == self.profile, CardRow.due <= now)
        with self._database.reading() as session:
            cards = list(session.scalars(query.order_by(CardRow.due, CardRow.card)))
        return cards if among is None else [card for card in cards if card in set(among)]

    def make_due(self, cards: Iterable[str], at: datetime) -> None:
        """Have `cards` come back at `at`, also those that were never answered: a mistake elsewhere shows the need."""
        times = dict.fromkeys((checked(Name, card, "card") for card in cards), _time(at))
        with self._database.writing(self.profile) as session:
            _cards.make_due(session, self.profile, times)

    # Submissions and drafts

    def submit(
        self,
        problem: str,
        source: str,
        verdict: dict[str, Any],
        passed: bool,
        pitfalls: Iterable[str],
        at: datetime,
        mode: str,
        seconds: float | None = None,
    ) -> str:
        """Keep a submission with its verdict (as JSON has it); gives its id. `seconds`: see `Attempt`."""
        submission = Submission(
            id=uuid.uuid4().hex,
            problem=problem,
            source=source,
            verdict=verdict,
            passed=passed,
            pitfalls=tuple(pitfalls),
            mode=mode,
            at=at,
            seconds=seconds,
        )
        submission = checked(Submission, submission)
        with self._database.writing(self.profile) as session:
            session.execute(insert(SubmissionRow), _transfer.row(submission, self.profile))
        return submission.id

    def submissions(self, problem: str | None = None, limit: int | None = None) -> tuple[Submission, ...]:
        """The submissions, the newest first: to one problem or to all, at most `limit`."""
        return self._submitted(Submission, problem, limit)

    def attempts(self, problem: str | None = None) -> tuple[Attempt, ...]:
        """The submissions, the newest first, without their sources and verdicts, which may be large."""
        return self._submitted(Attempt, problem, None)

    def _submitted(self, kind: Any, problem: str | None, limit: int | None) -> tuple[Any, ...]:
        query = select(*_transfer.columns(SubmissionRow, kind)).where(SubmissionRow.profile == self.profile)
        if problem is not None:
            query = query.where(SubmissionRow.problem == problem)
        query = query.order_by(SubmissionRow.at.desc(), SubmissionRow.id.desc()).limit(limit)
        with self._database.reading() as session:
            return tuple(_transfer.record(kind, found) for found in session.execute(query))

    def save_draft(self, key: str, text: str, at: datetime | None = None) -> None:
        """Keep a text under `key`, in place of the one before."""
        draft = checked(Draft, Draft(text=text, at=_time(at)))
        with self._database.writing(self.profile) as session:
            self._put(session, DraftRow, key, draft)

    def draft(self, key: str) -> str | None:
        """The text kept under `key`, or None."""
        with self._database.reading() as session:
            row = session.get(DraftRow, (self.profile, key))
            return row.text if row is not None else None

    def drafts(self) -> dict[str, Draft]:
        """All drafts by key, the one saved last first."""
        query = select(DraftRow).where(DraftRow.profile == self.profile).order_by(DraftRow.at.desc(), DraftRow.key)
        with self._database.reading() as session:
            return {row.key: Draft(text=row.text, at=row.at) for row in session.scalars(query)}

    # Settings

    def setting(self, key: str, default: Any = None) -> Any:
        """The setting `key` as JSON has it, or `default`."""
        with self._database.reading() as session:
            row = session.get(SettingRow, (self.profile, key))
            return row.value if row is not None else default

    def set_setting(self, key: str, value: Any, at: datetime | None = None) -> None:
        """Keep a setting (anything that JSON has).

        Two are the store's own: `pace` (see `rate`) counts from the next answer on; with `desired_retention` all cards
        get other dates at once. Raises BadInput for a value of these that cannot be.
        """
        check_setting(key, value)
        setting = checked(Setting, Setting(value=value, at=_time(at)))
        with self._database.writing(self.profile) as session:
            self._put(session, SettingRow, key, setting)
            if key == "desired_retention":
                session.flush()
                _cards.recompute(session, self.profile, None, value)

    def _put(self, session: Session, table: Any, key: str, record: Draft | Setting) -> None:
        session.merge(table(key=checked(Name, key, "key"), **_transfer.row(record, self.profile)))

    # The whole

    def export(self) -> str:
        """Everything of this profile as one JSON document; the same as long as nothing changes."""
        with self._database.reading() as session:
            return _transfer.export(session, self.profile)

    def import_(self, text: str) -> Imported:
        """Merge a document of `export` into this profile: nothing is lost, and doing it twice changes nothing more.

        Raises BadInput, which says where and why, and changes nothing, for what is no such document.
        """
        document = _transfer.read(text)
        with self._database.writing(self.profile) as session:
            return _transfer.merge(session, self.profile, document)


def _time(at: datetime | None) -> datetime:
    return datetime.now(UTC) if at is None else checked(Utc, at, "at")
