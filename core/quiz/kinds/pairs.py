"""Questions answered by matching what stands on the left with what stands on the right."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from core.errors import BadInput
from core.quiz.kinds.choice import chosen, known
from core.quiz.schema import Claim, Code, Expression, Id, Question, Runner, Strict, Text, fault, first_twice, in_short


class _Item(Strict):
    id: Id
    text: Text | None = None
    code: Code | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> "_Item":
        if (self.text is None) == (self.code is None):
            raise fault("option-text-or-code", option=self.id)
        return self


class Left(_Item):
    """What is to be matched; `value` is an expression for what it is in the run."""

    value: Expression


class Right(_Item):
    """What it is matched with; the pair is true when `claims` has the same value."""

    claims: Expression


class MatchPairs(Question):
    """Each item on the left belongs to one on the right. Answered with a mapping of their ids."""

    kind: Literal["pairs"]
    left: Annotated[tuple[Left, ...], Field(strict=False, min_length=2, max_length=6)]
    right: Annotated[tuple[Right, ...], Field(strict=False, min_length=2, max_length=8)]
    answer: Annotated[dict[Id, Id], Field(min_length=2)]

    @model_validator(mode="after")
    def _answer_is_complete(self) -> "MatchPairs":
        for items in (self.left, self.right):
            said = [item.code or (item.text and (item.text.en, item.text.zh)) for item in items]
            for values in ([item.id for item in items], said):
                if (twice := first_twice(values)) is not None:
                    raise fault("options-alike", value=str(twice))
        known(self._ids(self.left), self.answer)
        known(self._ids(self.right), self.answer.values())
        if missing := [id_ for id_ in self._ids(self.left) if id_ not in self.answer]:
            raise fault("pair-missing", value=", ".join(missing))
        return self

    @staticmethod
    def _ids(items: tuple[_Item, ...]) -> list[str]:
        return [item.id for item in items]

    def texts(self) -> list[Text]:
        return [*super().texts(), *(item.text for item in (*self.left, *self.right) if item.text)]

    def codes(self) -> list[str]:
        return [*super().codes(), *(item.code for item in (*self.left, *self.right) if item.code)]

    def claims(self) -> dict[str, Claim]:
        return {
            f"{left.id} = {right.id}": Claim(
                f"same({left.value}, {right.claims})", self.answer[left.id] == right.id, compares=False
            )
            for left in self.left
            for right in self.right
        }

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        if not isinstance(answer, Mapping):
            raise BadInput("quiz.answer-not-pairs", value=in_short(answer))
        given = {
            chosen(self._ids(self.left), left): chosen(self._ids(self.right), right) for left, right in answer.items()
        }
        if open_ := [id_ for id_ in self._ids(self.left) if id_ not in given]:
            raise BadInput("quiz.pairs-open", value=", ".join(open_))
        return given == self.answer
