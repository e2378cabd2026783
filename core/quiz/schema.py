"""What every question has, whatever its kind; the kinds themselves are in ``kinds.py``.

The models are strict: YAML 1.1 reads ``no``, ``on``, ``yes`` as booleans and ``1:30`` as 90, so a text that is no
string is a fault and never converted. They are frozen: one bank is shared by all who read it.

Faults found here carry a code of ``errors.yaml`` (as a PydanticCustomError), so that both languages can word them.
"""

import ast
import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from core.errors import Lang
from core.markup import AXES, parse

MAX_COLUMNS = 60
"""Width of code: what a phone shows without scrolling sideways."""

CJK = re.compile(r"[\u3400-\u9fff]")


def fault(code: str, **params: object) -> PydanticCustomError:
    """An error for a validator to raise; `code` is a key of ``errors.yaml``."""
    return PydanticCustomError(code, code, params)  # ty: ignore[invalid-argument-type]


def _prose(text: str) -> str:
    if not text.strip():
        raise fault("text-empty")
    try:
        parse(text)
    except ValueError as error:
        raise fault("bad-markup", near=str(error), axes=", ".join(AXES)) from None
    return text.strip()


def _english(text: str) -> str:
    if CJK.search(text):
        raise fault("language-mixed-up", value=text)
    return text


def _chinese(text: str) -> str:
    if not CJK.search(text):
        raise fault("language-not-translated", value=text)
    return text


def _code(text: str) -> str:
    text = text.rstrip()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS:
            raise fault("code-too-wide", number=number, columns=len(line), limit=MAX_COLUMNS)
    return text


def _runnable(text: str) -> str:
    _parsed(text, "exec")
    return text


def check_expression(text: str) -> str:
    _parsed(text, "eval")
    return text


def _parsed(text: str, mode: str) -> ast.AST:
    try:
        return ast.parse(text, mode=mode)
    except SyntaxError as error:
        raise fault("code-not-python", detail=error.msg, number=error.lineno or 1) from None


Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Prose = Annotated[str, AfterValidator(_prose)]
Code = Annotated[str, AfterValidator(_code)]
Program = Annotated[str, AfterValidator(_code), AfterValidator(_runnable)]
Expression = Annotated[str, AfterValidator(check_expression)]


class Strict(BaseModel):
    """The settings of every model of a question file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Text(Strict):
    """The same words in both languages, with the mark-up of ``markup.py``; ``text["zh"]`` picks one."""

    en: Annotated[Prose, AfterValidator(_english)]
    zh: Annotated[Prose, AfterValidator(_chinese)]

    def __getitem__(self, lang: Lang) -> str:
        return self.zh if lang == "zh" else self.en


class Source(Strict):
    """Where a fact that cannot be run comes from."""

    title: Annotated[str, Field(min_length=1)]
    place: Annotated[str, Field(min_length=1)]
    url: Annotated[str, StringConstraints(pattern=r"^https://\S+$")]


class Claim(NamedTuple):
    """What an answer says about the run, as a Python expression, and whether the key calls it right.

    `compares`: the claim is true when the expression equals the result of the proof (within `tolerance`, relative);
    otherwise it is true when the expression is True. `may_raise`: the expression is itself a candidate answer, and
    one that raises is a wrong one.
    """

    expression: str
    keyed: bool
    compares: bool = True
    tolerance: float = 0.0
    may_raise: bool = False


class Question(Strict):
    """The fields that all kinds share.

    The proof is Python in three parts that run one after the other in one namespace: `given` (sizes and tensors that
    the prompt speaks of), `code` (what the reader sees, so what is shown is what is run) and `proof`, whose last line
    is an expression: its value is the result that the claims of the answers are held against.
    """

    kind: str
    id: Id
    topic: Id
    level: Annotated[int, Field(ge=1, le=3)]
    pitfalls: Annotated[tuple[Id, ...], Field(strict=False)] = ()
    prompt: Text
    given: Program = ""
    code: Program = ""
    proof: Program
    explanation: Text
    source: Source | None = None
    walk: Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")] | None = None
    """Variable that the matching step of the Shape walk is bound to."""

    @model_validator(mode="after")
    def _proof_ends_with_its_result(self) -> "Question":
        body = ast.parse(self.proof).body
        if not body or not isinstance(body[-1], ast.Expr):
            raise fault("proof-without-result")
        return self

    @property
    def program(self) -> str:
        """The whole proof as one piece of Python, ready to be run by hand."""
        return "\n".join(part for part in (self.given, self.code, self.proof) if part)

    def claims(self) -> dict[str, Claim]:
        """What each possible answer says about the run, by option id (``"answer"`` where there are no options)."""
        raise NotImplementedError

    def grade(self, answer: object) -> bool:
        """Whether `answer` is right. Raises BadInput for one that cannot be read as an answer of this kind."""
        raise NotImplementedError
