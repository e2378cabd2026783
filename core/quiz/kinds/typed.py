"""Questions answered by typing a shape, strides, or a number with a unit."""

import math
import re
import unicodedata
from typing import Annotated, Literal

from pydantic import Field

from core.errors import BadInput
from core.quiz.schema import MAX_TYPED, Claim, Id, Question, Runner, in_short

Unit = Literal[
    "bytes", "KiB", "MiB", "GiB", "FLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "×", "%", "ms", "tokens"
]  # fmt: skip
# What may be typed behind a number, in lower case, and what it stands for; units of one family can be exchanged.
_FAMILIES: tuple[dict[str, float], ...] = (
    {"byte": 1, "bytes": 1}
    | {f"{letter}ib": 2.0 ** (10 * power) for power, letter in enumerate("kmgt", 1)}
    | {f"{letter}b": 10.0 ** (3 * power) for power, letter in enumerate("kmgt", 1)},
    {"flop": 1, "flops": 1}
    | {f"{letter}{name}": 10.0 ** (3 * p) for p, letter in enumerate("kmgt", 1) for name in ("flop", "flops")},
    {"×": 1, "x": 1, "倍": 1},
    {"%": 1},
    {"ms": 1, "s": 1000, "us": 0.001, "μs": 0.001},
    {"token": 1, "tokens": 1},
)


Sizes = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]


class _TypeSizes(Question):
    answer: Sizes
    mistakes: dict[Id, Sizes] = Field(default_factory=dict)
    """What comes of usual mistakes on the same sizes, by the id of the pitfall where there is one."""

    def claims(self) -> dict[str, Claim]:
        wrong = {id_: Claim(repr(sizes), keyed=False) for id_, sizes in self.mistakes.items()}
        return {"answer": Claim(repr(self.answer), keyed=True), **wrong}

    def mistake(self, answer: object) -> str | None:
        """The mistake that an answer comes of, or None. Raises BadInput as `grade`."""
        sizes = _sizes(answer, self.kind)
        return next((id_ for id_, wrong in self.mistakes.items() if wrong == sizes), None)

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        return _sizes(answer, self.kind) == self.answer


class TypeShape(_TypeSizes):
    """A shape to type. Answered with text such as ``(2, 8, 10, 10)`` or a sequence of ints."""

    kind: Literal["shape"]


class TypeStrides(_TypeSizes):
    """Strides to type, in elements, as torch prints them. Answered as a shape is."""

    kind: Literal["strides"]


class TypeNumber(Question):
    """A number to type, in the unit that stands beside the field. `tolerance` is relative: 0.01 accepts ±1 %.

    A product or a quotient counts as what it comes to, and another unit of the same family as what it stands for.
    """

    kind: Literal["number"]
    answer: int | float
    unit: Unit | None = None
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    mistakes: dict[Id, int | float] = Field(default_factory=dict)
    """What comes of usual mistakes on the same numbers, by the id of the pitfall where there is one."""

    def claims(self) -> dict[str, Claim]:
        wrong = {id_: Claim(repr(n), keyed=False, tolerance=self.tolerance) for id_, n in self.mistakes.items()}
        return {"answer": Claim(repr(self.answer), keyed=True, tolerance=self.tolerance), **wrong}

    def mistake(self, answer: object) -> str | None:
        """The mistake that an answer comes of, or None. Raises BadInput as `grade`."""
        number = _number(answer, self.unit)
        return next((id_ for id_, wrong in self.mistakes.items() if self._close(number, wrong)), None)

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        return self._close(_number(answer, self.unit), self.answer)

    def _close(self, number: float, other: float) -> bool:
        return math.isclose(number, other, rel_tol=max(self.tolerance, 1e-9))


def _typed(value: str) -> str:
    return unicodedata.normalize("NFKC", value[: MAX_TYPED + 1]).strip()


_SIZES = re.compile(r"(?:torch\.Size)?[\s(\[]*(\d{1,12}(?:[\s,、x×*]+\d{1,12})*)?[\s,、)\]]*", re.ASCII)


def _sizes(value: object, kind: str) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)) and len(value) <= MAX_TYPED and all(type(n) is int for n in value):
        return tuple(value)
    if isinstance(value, str) and len(value) <= MAX_TYPED:
        match = _SIZES.fullmatch(_typed(value))
        if match and (match[1] or _typed(value).endswith((")", "]"))):
            return tuple(int(size) for size in re.findall(r"\d+", match[1] or "", re.ASCII))
    raise BadInput("quiz.not-strides" if kind == "strides" else "quiz.not-a-shape", value=in_short(value))


_DIGITS = r"(?:[1-9]\d{0,2}(?:[,_ ]\d{3})+|\d+)(?:\.\d*)?|\.\d+"
_FACTOR = re.compile(rf"([+-]?(?:{_DIGITS})(?:e[+-]?\d{{1,3}})?)(?:(?:\^|\*\*)(\d{{1,3}}))?", re.ASCII | re.IGNORECASE)
_UNIT = re.compile(r"(?:[a-zμ]+|[%×倍])$", re.IGNORECASE)


def _number(value: object, unit: str | None) -> float:
    if type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e300:  # ty: ignore[invalid-argument-type]
        return float(value)  # ty: ignore[invalid-argument-type]
    if isinstance(value, str) and len(value) <= MAX_TYPED:
        text = _typed(value)
        name = match[0] if (match := _UNIT.search(text)) else ""
        number, scale = _product(text.removesuffix(name)), _scale(name, unit)
        if number is not None and scale is not None:
            return number * scale
    raise BadInput("quiz.not-a-number", value=in_short(value), unit=unit or "–")


def _scale(name: str, unit: str | None) -> float | None:
    """What the typed unit comes to in the unit asked for; None where it is of another family."""
    if not name:
        return 1.0
    family = next((family for family in _FAMILIES if unit and unit.casefold() in family), {})
    return family[name.casefold()] / family[unit.casefold()] if unit and name.casefold() in family else None


def _product(text: str) -> float | None:
    """``4 * 32``, ``2^20``, ``1/8``: the value; None where it is none, or not finite."""
    result = 1.0
    for sign, part in zip("*" + "".join(re.findall(r"(?<!\*)[*×x/](?!\*)", text)), _parts(text), strict=False):
        match = _FACTOR.fullmatch(part.strip())
        if match is None:
            return None
        base = float(re.sub("[,_ ]", "", match[1]))
        try:
            factor = base ** int(match[2] or 1)
            result = result / factor if sign == "/" else result * factor
        except (OverflowError, ZeroDivisionError):
            return None
    return result if math.isfinite(result) else None


def _parts(text: str) -> list[str]:
    return re.split(r"(?<!\*)[*×x/](?!\*)", text)
