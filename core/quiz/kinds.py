"""The kinds of question. A new kind is a class here with `claims` and `grade`, and its name in `AnyQuestion`."""

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, model_validator

from core.errors import BadInput
from core.quiz.schema import Claim, Code, Expression, Id, Question, Strict, Text, check_expression, fault

MAX_TYPED = 100
"""Characters of a typed answer that are read; no shape or number that we ask for comes near it."""

Unit = Literal["bytes", "KiB", "MiB", "GiB", "FLOPs", "×"]


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


class _Choice(Question):
    options: Annotated[tuple[Option, ...], Field(strict=False, min_length=2, max_length=9)]

    @model_validator(mode="after")
    def _options_differ(self) -> "_Choice":
        ids = [option.id for option in self.options]
        said = [option.code or (option.text and (option.text.en, option.text.zh)) for option in self.options]
        for values in (ids, said):
            twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
            if twice is not None:
                raise fault("options-alike", value=str(twice))
        return self

    def _known(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            if id_ not in {option.id for option in self.options}:
                raise fault("answer-not-an-option", value=id_, ids=", ".join(o.id for o in self.options))

    def _chosen(self, id_: object) -> str:
        ids = [option.id for option in self.options]
        if not isinstance(id_, str) or id_ not in ids:
            raise BadInput("quiz.unknown-option", value=_shown(id_), ids=", ".join(ids))
        return id_


class OneChoice(_Choice):
    """Exactly one option is right. Answered with its id."""

    kind: Literal["one-choice"]
    answer: Id

    @model_validator(mode="after")
    def _answer_is_an_option(self) -> "OneChoice":
        self._known([self.answer])
        return self

    def claims(self) -> dict[str, Claim]:
        return {option.id: option.claim(option.id == self.answer) for option in self.options}

    def grade(self, answer: object) -> bool:
        return self._chosen(answer) == self.answer


class SeveralChoices(_Choice):
    """One or more options are right; all of them and no other must be chosen. Answered with their ids."""

    kind: Literal["several-choices"]
    answer: Annotated[tuple[Id, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _answers_are_options(self) -> "SeveralChoices":
        self._known(self.answer)
        return self

    def claims(self) -> dict[str, Claim]:
        return {option.id: option.claim(option.id in self.answer) for option in self.options}

    def grade(self, answer: object) -> bool:
        if not isinstance(answer, (list, tuple, set, frozenset)):
            raise BadInput("quiz.answer-not-a-list", value=_shown(answer))
        return {self._chosen(id_) for id_ in answer} == set(self.answer)


class TypeShape(Question):
    """A shape to type. Answered with text such as ``(2, 8, 10, 10)`` or a sequence of ints."""

    kind: Literal["shape"]
    answer: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]

    def claims(self) -> dict[str, Claim]:
        return {"answer": Claim(repr(self.answer), keyed=True)}

    def grade(self, answer: object) -> bool:
        return _shape(answer) == self.answer


class TypeNumber(Question):
    """A number to type, in the unit that stands beside the field. `tolerance` is relative: 0.01 accepts ±1 %."""

    kind: Literal["number"]
    answer: int | float
    unit: Unit | None = None
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def claims(self) -> dict[str, Claim]:
        return {"answer": Claim(repr(self.answer), keyed=True, tolerance=self.tolerance)}

    def grade(self, answer: object) -> bool:
        return math.isclose(_number(answer, self.unit), self.answer, rel_tol=max(self.tolerance, 1e-9))


AnyQuestion = Annotated[
    OneChoice | SeveralChoices | TypeShape | TypeNumber,
    Field(discriminator="kind"),
]
KINDS = ("one-choice", "several-choices", "shape", "number")
ADAPTER: TypeAdapter[Question] = TypeAdapter(AnyQuestion)


def grade(question: Question, answer: object) -> bool:
    """Whether `answer` to `question` is right; `answer` may come from anywhere.

    An option id, a collection of option ids, a shape, or a number, as the kind has it; typed text is read leniently
    (``2x8x10x10``, ``torch.Size([2, 8, 10, 10])``, ``131,072``, ``1/8``, full-width signs). Raises BadInput for what
    cannot be read as an answer, so that a slip of the finger need not count as a mistake.
    """
    return question.grade(answer)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return text if len(text) <= MAX_TYPED else text[:MAX_TYPED] + "…"


def _typed(value: str) -> str:
    return unicodedata.normalize("NFKC", value[: MAX_TYPED + 1]).strip()


_SHAPE = re.compile(r"(?:torch\.Size)?[\s(\[]*(\d{1,12}(?:[\s,、x×*]+\d{1,12})*)?[\s,、)\]]*", re.ASCII)


def _shape(value: object) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)) and len(value) <= MAX_TYPED and all(type(n) is int for n in value):
        return tuple(value)
    if isinstance(value, str) and len(value) <= MAX_TYPED:
        match = _SHAPE.fullmatch(_typed(value))
        if match and (match[1] or _typed(value).endswith((")", "]"))):
            return tuple(int(size) for size in re.findall(r"\d+", match[1] or "", re.ASCII))
    raise BadInput("quiz.not-a-shape", value=_shown(value))


_NUMBER = re.compile(
    r"(?P<top>[+-]?(?:(?:[1-9]\d{0,2}(?:[,_ ]\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?)"
    r"(?:\s*/\s*(?P<bottom>\d+))?\s*(?P<unit>[a-z×倍]*)",
    re.ASCII | re.IGNORECASE,
)


def _number(value: object, unit: str | None) -> float:
    if type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e300:  # ty: ignore[invalid-argument-type]
        return float(value)  # ty: ignore[invalid-argument-type]
    if isinstance(value, str) and len(value) <= MAX_TYPED:
        match = _NUMBER.fullmatch(_typed(value))
        accepted = {"", (unit or "").casefold()} | ({"x", "倍"} if unit == "×" else set())
        if match and match["unit"].casefold() in accepted:
            top = float(re.sub("[,_ ]", "", match["top"]))
            bottom = float(match["bottom"] or 1)
            if math.isfinite(top) and math.isfinite(bottom) and bottom:
                return top / bottom
    raise BadInput("quiz.not-a-number", value=_shown(value), unit=unit or "–")
