"""A sitting: which questions, in which order, and what was answered to them. No Streamlit here."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.errors import Explained
from core.quiz import Bank, Question, grade
from core.quiz.schema import Runner

ALL = "all"
"""The choice of every topic, or of every level."""


@dataclass(frozen=True)
class Answer:
    """What was answered, as JSON has it (an option's id, a list of them, typed text, …), and whether it is right."""

    given: object
    right: bool


@dataclass(frozen=True)
class Sitting:
    """What was answered in a session. Immutable: each change gives a new one, so that a half-made one is never seen.

    `answers` are the answers that stand, by question id; `drafts` those begun and not yet handed in; `refused` why one
    could not be read. `right` and `answered` count every answer of the sitting, those that were tried again too.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
    drafts: Mapping[str, object] = field(default_factory=dict)
    refused: Mapping[str, Explained] = field(default_factory=dict)
    right: int = 0
    answered: int = 0

    def answer(self, question: Question, given: object, run: Runner | None = None) -> "Sitting":
        """With `given` as the answer to `question`. The first answer stands; one that cannot be read does not count."""
        if question.id in self.answers:
            return self
        try:
            right = grade(question, given, run)
        except Explained as error:
            return replace(self, refused={**self.refused, question.id: error})
        return replace(
            self,
            answers={**self.answers, question.id: Answer(given, right)},
            drafts=_without(self.drafts, [question.id]),
            refused=_without(self.refused, [question.id]),
            right=self.right + right,
            answered=self.answered + 1,
        )

    def draft(self, question_id: str, draft: object) -> "Sitting":
        """With what has been put together of an answer so far."""
        return replace(self, drafts={**self.drafts, question_id: draft})

    def ticked(self, question_id: str) -> frozenset[str]:
        """The options that are chosen so far."""
        draft = self.drafts.get(question_id)
        return draft if isinstance(draft, frozenset) else frozenset()

    def tick(self, question_id: str, option_id: str) -> "Sitting":
        """With the option chosen where it was not, and not where it was."""
        return self.draft(question_id, self.ticked(question_id) ^ {option_id})

    def again(self, question_ids: Iterable[str]) -> "Sitting":
        """With these questions open once more; what was answered to them stays in the count."""
        ids = list(question_ids)
        return replace(
            self,
            answers=_without(self.answers, ids),
            drafts=_without(self.drafts, ids),
            refused=_without(self.refused, ids),
        )

    def wrong(self, question_ids: Sequence[str]) -> list[str]:
        """Those of the questions that are answered wrongly."""
        return [id_ for id_ in question_ids if id_ in self.answers and not self.answers[id_].right]

    def next_open(self, question_ids: Sequence[str], after: str | None = None) -> str | None:
        """The first of the questions behind `after` that is not answered, then the first before it, else None."""
        start = question_ids.index(after) + 1 if after in question_ids else 0
        ahead = [*question_ids[start:], *question_ids[:start]]
        return next((id_ for id_ in ahead if id_ not in self.answers and id_ != after), None)


@dataclass(frozen=True)
class Pairing:
    """Pairs being matched: what was chosen so far, and the left item that is to be matched next (None when all are)."""

    chosen: Mapping[str, str] = field(default_factory=dict)
    now: str | None = None

    def choose(self, right: str, left_ids: Sequence[str]) -> "Pairing":
        """With `right` for the current left item; the next open one is the current one then."""
        if self.now is None:
            return self
        chosen = {**self.chosen, self.now: right}
        start = left_ids.index(self.now) + 1
        ahead = [*left_ids[start:], *left_ids[:start]]
        return Pairing(chosen, next((id_ for id_ in ahead if id_ not in chosen), None))


def plan(bank: Bank, topic: str, level: str) -> tuple[Question, ...]:
    """The written questions of a topic and a level (`ALL` for every one), in the order in which they are asked.

    Easy ones first, otherwise as in the file; of several topics, one question of each in turn. There is no shuffling:
    a link means the same place in every session, and options already stand in a balanced order.
    """
    chosen = bank.of(None if topic == ALL else topic, None if level == ALL else int(level))
    seen: Counter[tuple[str, int]] = Counter()
    rank = {}
    for question in chosen:
        rank[question.id] = (question.level, seen[question.topic, question.level])
        seen[question.topic, question.level] += 1
    return tuple(sorted(chosen, key=lambda question: rank[question.id]))  # stable: topics stay in their order


def _without(items: Mapping[str, object], ids: Iterable[str]) -> dict:
    return {key: value for key, value in items.items() if key not in set(ids)}
