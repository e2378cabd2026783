"""The kinds of question. A new kind is a class with `grade`, and `claims` or `trials`, entered in `AnyQuestion`."""

from typing import Annotated, get_args

from pydantic import Field, TypeAdapter

from core.quiz.kinds.choice import OneChoice, Option, Raises, SeveralChoices
from core.quiz.kinds.code import FaultyLine, FillBlank, OrderLines
from core.quiz.kinds.pairs import MatchPairs
from core.quiz.kinds.typed import TypeNumber, TypeShape, TypeStrides
from core.quiz.schema import Question, Runner

__all__ = [
    "ADAPTER",
    "KINDS",
    "FaultyLine",
    "FillBlank",
    "MatchPairs",
    "OneChoice",
    "Option",
    "OrderLines",
    "Raises",
    "SeveralChoices",
    "TypeNumber",
    "TypeShape",
    "TypeStrides",
    "grade",
]

AnyQuestion = (
    OneChoice
    | SeveralChoices
    | TypeShape
    | TypeStrides
    | TypeNumber
    | Raises
    | FaultyLine
    | OrderLines
    | FillBlank
    | MatchPairs
)
KINDS: tuple[str, ...] = tuple(get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(AnyQuestion))
ADAPTER: TypeAdapter[Question] = TypeAdapter(Annotated[AnyQuestion, Field(discriminator="kind")])


def grade(question: Question, answer: object, run: Runner | None = None) -> bool:
    """Whether `answer` to `question` is right; `answer` may come from anywhere.

    By kind: an option's id (one-choice, raises); ids (several-choices); a shape or strides; a number; a line's number
    (faulty-line); the lines' places in the right order, as they were put (order); text (blank); the id on the right
    for each on the left (pairs). Typed text is read leniently (``2x8x10x10``, ``131,072``, ``4 * 32``, ``32 MiB``,
    full-width signs). `run` runs what was typed into a blank where it can do no harm; no other kind needs it.

    Raises BadInput for what cannot be read as an answer, so that a slip of the finger need not count as a mistake;
    Unavailable where a blank's text would have to be run and cannot be.
    """
    return question.grade(answer, run)
