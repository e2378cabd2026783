"""A sitting: which questions, in which order, and what was answered to them. No Streamlit here."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.errors import BadInput
from core.quiz import Bank, Question, grade

ALL = "all"
"""The choice of every topic, or of every level."""


@dataclass(frozen=True)
class Answer:
    """What was answered (an option id, a set of them, or typed text), and whether it is right."""

    given: object
    right: bool


@dataclass(frozen=True)
class Sitting:
    """What was answered in a session. Immutable: each change gives a new one, so that a half-made one is never seen.

    `answers` are the answers that stand, by question id; `ticked` the options chosen and not yet handed in; `refused`
    why typed text could not be read. `right` and `answered` count every answer of the sitting, those that were tried
    again too.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
    ticked: Mapping[str, frozenset[str]] = field(default_factory=dict)
    refused: Mapping[str, BadInput] = field(default_factory=dict)
    right: int = 0
    answered: int = 0

    def answer(self, question: Question, given: object) -> "Sitting":
        """With `given` as the answer to `question`. The first answer stands; one that cannot be read does not count."""
        if question.id in self.answers:
            return self
        try:
            right = grade(question, given)
        except BadInput as error:
            return replace(self, refused={**self.refused, question.id: error})
        return replace(
            self,
            answers={**self.answers, question.id: Answer(given, right)},
            refused=_without(self.refused, [question.id]),
            right=self.right + right,
            answered=self.answered + 1,
        )

    def tick(self, question_id: str, option_id: str) -> "Sitting":
        """With the option chosen where it was not, and not where it was."""
        ticked = self.ticked.get(question_id, frozenset()) ^ {option_id}
        return replace(self, ticked={**self.ticked, question_id: ticked})

    def again(self, question_ids: Iterable[str]) -> "Sitting":
        """With these questions open once more; what was answered to them stays in the count."""
        ids = list(question_ids)
        return replace(
            self,
            answers=_without(self.answers, ids),
            ticked=_without(self.ticked, ids),
            refused=_without(self.refused, ids),
        )

    def wrong(self, questions: Sequence[Question]) -> list[Question]:
        """Those of `questions` that are answered wrongly."""
        return [q for q in questions if q.id in self.answers and not self.answers[q.id].right]

    def next_open(self, questions: Sequence[Question], after: Question | None = None) -> Question | None:
        """The first of `questions` behind `after` that is not answered, then the first before it, else None."""
        start = questions.index(after) + 1 if after in questions else 0
        ahead = [*questions[start:], *questions[:start]]
        return next((q for q in ahead if q.id not in self.answers and q != after), None)


def plan(bank: Bank, topic: str, level: str) -> tuple[Question, ...]:
    """The questions of a topic and a level (`ALL` for every one), in the order in which they are asked.

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
