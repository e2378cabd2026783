"""Questions answered in code: which line is wrong, in which order the lines stand, what belongs in the blank."""

import ast
import itertools
import random
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from core.errors import BadInput, Unavailable
from core.quiz.schema import (
    MAX_TYPED,
    Claim,
    Code,
    Program,
    Question,
    Runner,
    Steps,
    Trial,
    fault,
    first_twice,
    in_short,
)

BLANK = "____"
Line = Annotated[int, Field(ge=1)]
Filling = Annotated[Code, Field(min_length=1, max_length=60)]


class FaultyLine(Question):
    """One line of the code is wrong. Answered with its number (1-based).

    The proof is True where the code does what it should. It is not as the code stands, nor with any of the `decoys`
    (what someone might change instead), and it is with the `repair` of the keyed line.
    """

    kind: Literal["faulty-line"]
    answer: Line
    repair: Code
    decoys: Annotated[dict[Line, Code], Field(min_length=2)]

    @model_validator(mode="after")
    def _lines_are_there(self) -> "FaultyLine":
        for line in (self.answer, *self.decoys):
            if line not in self.lines():
                raise fault("line-not-there", line=line, last=self.code.count("\n") + 1)
        if self.answer in self.decoys:
            raise fault("decoy-on-the-faulty-line", line=self.answer)
        for line, text in ((self.answer, self.repair), *self.decoys.items()):
            try:
                ast.parse(self.with_line(line, text))
            except SyntaxError as error:
                raise fault("code-not-python", detail=error.msg, number=line) from None
        return self

    def lines(self) -> list[int]:
        """The numbers of the lines that can be meant: those that hold more than a comment."""
        rows = enumerate(self.code.split("\n"), 1)
        return [number for number, row in rows if row.strip() and not row.lstrip().startswith("#")]

    def with_line(self, number: int, text: str) -> str:
        """The code with another text for one line; the text takes over the line's indentation."""
        rows = self.code.split("\n")
        indent = rows[number - 1][: len(rows[number - 1]) - len(rows[number - 1].lstrip())]
        return "\n".join([*rows[: number - 1], *(indent + row for row in text.split("\n")), *rows[number:]])

    def codes(self) -> list[str]:
        return [*super().codes(), self.repair]

    def trials(self) -> Iterator[Trial]:
        yield Trial("as-is", self.steps(), "as it stands", keyed=False, shown=True)
        for line, text in self.decoys.items():
            yield Trial(f"line-{line}", self.steps(self.with_line(line, text)), text, keyed=False)
        mended = self.steps(self.with_line(self.answer, self.repair))
        yield Trial("repaired", mended, self.repair, keyed=True, shown=True)

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        if type(answer) is not int or answer not in self.lines():
            raise BadInput("quiz.not-a-line", value=in_short(answer), last=self.lines()[-1])
        return answer == self.answer


class OrderLines(Question):
    """Lines to be put in order; no other order than the keyed one may work. Answered with their places in it (0-based),
    in the order in which they were put. The proof is True where the lines did what they should.
    """

    kind: Literal["order"]
    # six, so that the proof can try all 720 orders
    lines: Annotated[
        tuple[Annotated[Program, Field(min_length=1)], ...], Field(strict=False, min_length=3, max_length=6)
    ]

    @model_validator(mode="after")
    def _lines_differ(self) -> "OrderLines":
        if (twice := first_twice(list(self.lines))) is not None:
            raise fault("options-alike", value=twice)
        if self.code:
            raise fault("order-with-code")
        return self

    def shuffled(self) -> list[int]:
        """The places of the lines as they are shown at first: the same for everybody, and never in order."""
        places = list(range(len(self.lines)))
        while places == sorted(places):
            random.Random(f"{self.id}{places}").shuffle(places)
            places = places if places != sorted(places) else places[::-1]
        return places

    def codes(self) -> list[str]:
        return [*super().codes(), *self.lines]

    def steps(self, code: str | None = None) -> Steps:
        return super().steps("\n".join(self.lines) if code is None else code)

    def claims(self) -> dict[str, Claim]:
        return {"answer": Claim("True", keyed=True)}

    def trials(self) -> Iterator[Trial]:
        for places in itertools.permutations(range(len(self.lines))):
            if places != tuple(range(len(self.lines))):
                code = "\n".join(self.lines[place] for place in places)
                yield Trial("-".join(str(place + 1) for place in places), self.steps(code), code, keyed=False)

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        places = answer if isinstance(answer, (list, tuple)) and all(type(place) is int for place in answer) else []
        if sorted(places) != list(range(len(self.lines))):
            raise BadInput("quiz.not-an-order", value=in_short(answer), count=len(self.lines))
        return list(places) == list(range(len(self.lines)))


class FillBlank(Question):
    """A blank in the code to fill. Answered with text; right is every text with which the proof has the same result.

    `also` are other right fillings, `wrong` plausible wrong ones: the proof must tell them apart.
    """

    kind: Literal["blank"]
    answer: Filling
    also: Annotated[tuple[Filling, ...], Field(strict=False)] = ()
    wrong: Annotated[tuple[Filling, ...], Field(strict=False, min_length=2)]

    @model_validator(mode="after")
    def _fillings_fit(self) -> "FillBlank":
        if self.code.count(BLANK) != 1:
            raise fault("blank-not-once", count=self.code.count(BLANK), blank=BLANK)
        fillings = [self.answer, *self.also, *self.wrong]
        if (twice := first_twice(fillings)) is not None:
            raise fault("options-alike", value=twice)
        for filling in fillings:
            if self._tree(filling) is None:
                raise fault("code-not-python", detail=filling, number=1)
        return self

    def filled(self, filling: str) -> str:
        return self.code.replace(BLANK, filling)

    def _tree(self, filling: str) -> str | None:
        """What the filled code says, however it is spaced; None where it is no Python."""
        try:
            return ast.dump(ast.parse(self.filled(filling)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the text of a person may be anything
            return None

    def codes(self) -> list[str]:
        return [*super().codes(), self.answer]

    def steps(self, code: str | None = None) -> Steps:
        return super().steps(self.filled(self.answer) if code is None else code)

    def trials(self) -> Iterator[Trial]:
        for keyed, fillings in ((True, self.also), (False, self.wrong)):
            for filling in fillings:
                yield Trial(filling, self.steps(self.filled(filling)), filling, keyed, compares=True)

    def grade(self, answer: object, run: Runner | None = None) -> bool:
        typed = answer.strip() if isinstance(answer, str) else ""
        if not typed or len(typed) > MAX_TYPED or "\n" in typed or (tree := self._tree(typed)) is None:
            raise BadInput("quiz.not-a-filling", value=in_short(answer), limit=MAX_TYPED)
        for right, fillings in ((True, (self.answer, *self.also)), (False, self.wrong)):
            if tree in map(self._tree, fillings):
                return right
        if run is None:
            raise Unavailable("quiz.blank-not-run")
        return run(self.steps(), self.steps(self.filled(typed)))
