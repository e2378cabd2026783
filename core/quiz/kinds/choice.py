"""Questions answered by choosing: one option, several, or what happens when the code runs."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from core.errors import BadInput
from core.quiz.schema import (
    Claim,
    Code,
    Expression,
    Id,
    Question,
    Runner,
    Strict,
    Text,
    check_expression,
    fault,
    first_twice,
    in_short,
)


class Option(Strict):
    """One answer to choose: words in both languages, or a piece of code (a shape, a line) that both share.

    It says what it claims about the run in one of three ways: `claims`, an expression that equals the result of the
    proof when the option is true (an exception class stands for a run that raises it); `holds`, an expression that is
    True when the option is true; or neither, and then its own `code` is run and compared with the result.
    """

    id: Id
    text: Text | None = None
    code: Code | None = None
    claims: Expression | None = None
    holds: Expression | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Option":
        if (self.text is None) == (self.code is None):
            raise fault("option-text-or-code", option=self.id)
        if self.claims is not None and self.holds is not None:
            raise fault("option-claims-twice", option=self.id)
        if self.claims is None and self.holds is None:
            if self.code is None:
                raise fault("option-claims-nothing", option=self.id)
            check_expression(self.code)
        return self

    def claim(self, keyed: bool) -> Claim:
        if self.holds is not None:
            return Claim(self.holds, keyed, compares=False)
        if self.claims is not None:
            return Claim(self.claims, keyed)
        return Claim(self.code or "", keyed, may_raise=True)


def known(ids: Iterable[str], answers: Iterable[str]) -> None:
    """Refuse a key that names none of `ids`."""
    ids = list(ids)
    for answer in answers:
        if answer not in ids:
            raise fault("answer-not-an-option", value=answer, ids=", ".join(ids))


def chosen(ids: Iterable[str], answer: object) -> str:
    """`answer`, which must be one of `ids`. Raises BadInput."""
    ids = list(ids)
    if not isinstance(answer, str) or answer not in ids:
        raise BadInput("quiz.unknown-option", value=in_short(answer), ids=", ".join(ids))
    return answer


class _Choice(Question):
    options: Annotated[tuple[Option, ...], Field(strict=False, min_length=2, max_length=9)]

    @model_validator(mode="after")
    def _options_differ(self) -> "_Choice":
        said = [option.code or (option.text and (option.text.en, option.text.zh)) for option in self.options]
        for values in (self._ids(), said):
            if (twice := first_twice(values)) is not None:
                raise fault("options-alike", value=str(twice))
        return self

    def _ids(self) -> list[str]:
        return [option.id for option in self.options]

    def texts(self) -> list[Text]:
        return [*super().texts(), *(option.text for option in self.options if option.text)]

    def codes(self) -> list[str]:
        return [*super().codes(), *(option.code for option in self.options if option.code)]


class OneChoice(_Choice):
    """Exactly one option is right. Answered with its id."""

    kind: Literal["one-choice"]
    answer: Id

    @model_validator(mode="after")
    def _answer_is_an_option(self) -> "OneChoice":
        known(self._ids(), [self.answer])
        return self

    def claims(self) -> dict[str, Claim]:
        return {option.id: option.claim(option.id == self.answer) for option in self.options}

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        return chosen(self._ids(), answer) == self.answer


class SeveralChoices(_Choice):
    """One or more options are right; all of them and no other must be chosen. Answered with their ids."""

    kind: Literal["several-choices"]
    answer: Annotated[tuple[Id, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _answers_are_options(self) -> "SeveralChoices":
        known(self._ids(), self.answer)
        return self

    def claims(self) -> dict[str, Claim]:
        return {option.id: option.claim(option.id in self.answer) for option in self.options}

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        if not isinstance(answer, (list, tuple, set, frozenset)):
            raise BadInput("quiz.answer-not-a-list", value=in_short(answer))
        return {chosen(self._ids(), id_) for id_ in answer} == set(self.answer)


class Outcome(Strict):
    """How a run may end: an exception of just this class on this line (1-based) of the code, or, without, well."""

    id: Id
    line: Annotated[int, Field(ge=1)] | None = None
    error: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z]*$")] | None = None

    @model_validator(mode="after")
    def _line_and_error(self) -> "Outcome":
        if (self.line is None) != (self.error is None):
            raise fault("outcome-incomplete", option=self.id)
        return self


class Raises(Question):
    """Whether the code raises, where, and what. Answered with an outcome's id.

    The code is run; the line is the innermost one of the code itself. A `proof` is not needed; where there is one it
    is run behind code that runs to its end, and shows what came of it.
    """

    kind: Literal["raises"]
    proof_needed = False
    tells_outcome = True
    outcomes: Annotated[tuple[Outcome, ...], Field(strict=False, min_length=2, max_length=6)]
    answer: Id

    @model_validator(mode="after")
    def _outcomes_differ(self) -> "Raises":
        for values in (self._ids(), [(one.line, one.error) for one in self.outcomes]):
            if (twice := first_twice(values)) is not None:
                raise fault("options-alike", value=str(twice))
        known(self._ids(), [self.answer])
        last = self.code.count("\n") + 1
        if (beyond := next((one.line for one in self.outcomes if (one.line or 0) > last), None)) is not None:
            raise fault("line-not-there", line=beyond, last=last)
        return self

    def _ids(self) -> list[str]:
        return [outcome.id for outcome in self.outcomes]

    def claims(self) -> dict[str, Claim]:
        ends = {one.id: (one.line or 0, one.error or "") for one in self.outcomes}
        return {id_: Claim(repr(end), keyed=id_ == self.answer) for id_, end in ends.items()}

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        return chosen(self._ids(), answer) == self.answer
