"""What is repeated: a card is a written question, or a generator with all the questions that it makes."""

from collections.abc import Collection

from core.quiz import generators
from core.quiz.bank import Bank


def card_of(question_id: str) -> tuple[str, int | None]:
    """The card of a question and, where a generator made it, the seed that it was made from."""
    return generators.parse(question_id) or (question_id, None)


def about(bank: Bank, pitfalls: Collection[str]) -> list[str]:
    """The cards that ask about any of `pitfalls`, as they are taught."""
    written = [question.id for question in bank.questions if not set(pitfalls).isdisjoint(question.pitfalls)]
    drawn = [one.id for one in generators.GENERATORS.values() if not set(pitfalls).isdisjoint(one.pitfalls)]
    return [*written, *drawn]
