"""What every question has, whatever its kind; the kinds themselves are in ``kinds.py``.

The models are strict: YAML 1.1 reads ``no``, ``on``, ``yes`` as booleans and ``1:30`` as 90, so a text that is no
string is a fault and never converted. They are frozen: one bank is shared by all who read it.

Faults found here carry a code of ``errors.yaml`` (as a PydanticCustomError), so that both languages can word them.
"""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, ClassVar, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from core.errors import Lang
from core.markup import AXES, parse

MAX_COLUMNS = 60
"""Width of code: what a phone shows without scrolling sideways."""

MAX_TYPED = 100
"""Characters of a typed answer that are read; no shape, number or filling that we ask for comes near it."""

CJK = re.compile(r"[\u3400-\u9fff]")


def fault(code: str, **params: object) -> PydanticCustomError:
    """An error for a validator to raise; `code` is a key of ``errors.yaml``."""
    return PydanticCustomError(code, code, params)  # ty: ignore[invalid-argument-type]


def first_twice(values: Sequence[object]) -> object | None:
    """The first of `values` that stood there before, or None."""
    return next((value for i, value in enumerate(values) if value in values[:i]), None)


def in_short(value: object) -> str:
    """What was given as an answer, for an error message."""
    text = value if isinstance(value, str) else type(value).__name__
    return text if len(text) <= MAX_TYPED else text[:MAX_TYPED] + "…"


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


class Steps(NamedTuple):
    """A proof in three parts that run one after the other in one namespace (see `Question`)."""

    given: str
    code: str
    proof: str


class Trial(NamedTuple):
    """An answer to be tried by a run of its own; `says` is the answer as it is told in a fault.

    It is borne out when the run ends in True or, where it `compares`, in what the question's own steps end in. The
    transcripts of those to be `shown` are part of the proof.
    """

    name: str
    steps: Steps
    says: str
    keyed: bool
    compares: bool = False
    shown: bool = False


Runner = Callable[[Steps, Steps], bool]
"""Whether two programs, the second a stranger's, end in the same; raises BadInput or Unavailable where that is open."""


class Question(Strict):
    """The fields that all kinds share.

    The proof is Python in three parts that run one after the other in one namespace: `given` (sizes and tensors that
    the prompt speaks of), `code` (what the reader sees, so what is shown is what is run) and `proof`, whose last line
    is an expression: its value is the result that the claims of the answers are held against.

    An answer is proved in one of two ways: `claims` are held against the result of one run; each of `trials` is run
    by itself.
    """

    proof_needed: ClassVar[bool] = True
    tells_outcome: ClassVar[bool] = False
    """Whether the result is how the code ended: (line, class of the exception), or (0, "") where it ran to its end."""

    kind: str
    id: Id
    topic: Id
    level: Annotated[int, Field(ge=1, le=3)]
    pitfalls: Annotated[tuple[Id, ...], Field(strict=False)] = ()
    prompt: Text
    given: Program = ""
    code: Program = ""
    proof: Program = ""
    explanation: Text
    source: Source | None = None
    walk: Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")] | None = None
    """Variable that the matching step of the Shape walk is bound to."""

    @model_validator(mode="after")
    def _proof_ends_with_its_result(self) -> "Question":
        body = ast.parse(self.proof).body
        if (self.proof_needed or body) and not (body and isinstance(body[-1], ast.Expr)):
            raise fault("proof-without-result")
        return self

    def steps(self, code: str | None = None) -> Steps:
        """What is run, with the right answer put in; with `code` in the place of the question's own."""
        return Steps(self.given, self.code if code is None else code, self.proof)

    @property
    def program(self) -> str:
        """The whole proof as one piece of Python, ready to be run by hand."""
        return "\n".join(part for part in self.steps() if part)

    def texts(self) -> list[Text]:
        """All words that are shown."""
        return [self.prompt, self.explanation]

    def codes(self) -> list[str]:
        """All code that is shown or chosen from."""
        return [self.code] if self.code else []

    def claims(self) -> dict[str, Claim]:
        """What each possible answer says about the run, by option id (``"answer"`` where there are no options)."""
        return {}

    def trials(self) -> Iterable[Trial]:
        """The answers that are tried by runs of their own."""
        return ()

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        """Whether `answer` is right. Raises BadInput for one that cannot be read as an answer of this kind."""
        raise NotImplementedError
