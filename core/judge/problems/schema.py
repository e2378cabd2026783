"""What a problem's file may contain. Anything else is refused."""

import ast
from functools import cached_property
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from core.pitfalls import PROBLEMS, REFERENCES, catalogue
from core.pitfalls.schema import Some, Strict, Text

STARTER_COLUMNS = 88
SHOWN_COLUMNS = 60
"""Width of code that is read beside words: what a phone shows without scrolling sideways."""


def _known(id_: str) -> str:
    if id_ not in PROBLEMS:
        raise ValueError(f"{id_} is none of {', '.join(PROBLEMS)}")
    return id_


def _python(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno} is no Python: {error.msg}") from None


def _narrow(code: str, columns: int) -> str:
    for number, line in enumerate(code.split("\n"), 1):
        if len(line) > columns:
            raise ValueError(f"line {number} has {len(line)} columns; break it, {columns} are the most")
    return code


def _starter(code: str) -> str:
    """Names what is to be written, with its shapes, and leaves it open."""
    _narrow(code, STARTER_COLUMNS)
    nodes = list(ast.walk(_python(code)))
    if sum(isinstance(node, ast.ClassDef) for node in nodes) > 1 or _wanted(code) is None:
        raise ValueError("exactly one class or function is to be begun")
    if not any(isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node) for node in nodes):
        raise ValueError("what is to be written is left open with raise NotImplementedError")
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    if not all("(B, " in (ast.get_docstring(node) or "") for node in functions):
        raise ValueError("the docstring gives the shapes")
    return code


def _example(code: str) -> str:
    _narrow(code, SHOWN_COLUMNS)
    nodes = ast.walk(_python(code))
    if not any(isinstance(node, ast.Call) and ast.unparse(node.func) == "print" for node in nodes):
        raise ValueError("an example prints what it finds")
    return code


def _wanted(starter: str) -> ast.ClassDef | ast.FunctionDef | None:
    defined = [node for node in ast.parse(starter).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return defined[0] if len(defined) == 1 else None


class Source(Strict):
    """Where a fact of an answer comes from."""

    title: Annotated[str, Field(min_length=1)]
    place: Annotated[str, Field(min_length=1)]
    url: Annotated[str, StringConstraints(pattern=r"^https://\S+$")]


class FollowUp(Strict):
    """What an interviewer asks next, with a short answer."""

    question: Text
    answer: Text
    source: Source | None = None


class Problem(Strict):
    """A coding task: what to write, from where to begin, and how to be helped.

    `minutes` is the time that one has for it in an interview. `statement` are paragraphs, `rules` say what counts as
    right. `example` is Python that prints and is run with the reference (see `run_example`). `hints` go from the
    question which axis is meant to nearly the line of code.
    """

    id: Annotated[str, AfterValidator(_known)]
    title: Text
    level: Annotated[int, Field(ge=1, le=3)]
    minutes: Annotated[int, Field(ge=5, le=60)]
    statement: Some[Text]
    rules: Some[Text]
    example: Annotated[str, AfterValidator(_example)]
    starter: Annotated[str, AfterValidator(_starter)]
    hints: Annotated[Some[Text], Field(min_length=3, max_length=4)]
    follow_ups: Annotated[Some[FollowUp], Field(min_length=3, max_length=5)]

    @model_validator(mode="after")
    def _signature_is_narrow(self) -> Self:
        _narrow(self.signature, SHOWN_COLUMNS)
        return self

    @property
    def name(self) -> str:
        """The function or class to write."""
        return self._wanted.name

    @cached_property
    def signature(self) -> str:
        """The contract as Python: the starter's class or function with its arguments, each body a `...`."""
        node = self._wanted
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            return "\n".join(
                [f"class {node.name}({ast.unparse(node.bases[0])}):", *(_head(item, 4) for item in methods)]
            )
        return _head(node, 0)

    @property
    def _wanted(self) -> ast.ClassDef | ast.FunctionDef:
        node = _wanted(self.starter)
        assert node is not None, "the starter is checked before"
        return node

    @property
    def reference(self) -> str:
        """The reference of `core.pitfalls` that solves it: the one of the same name."""
        return self.id

    @property
    def also(self) -> tuple[str, ...]:
        """References that solve it in another style, with the same contract."""
        mine = REFERENCES[self.reference]
        return tuple(
            other.name
            for other in REFERENCES.values()
            if other.problem == self.id and other is not mine and other.gives == mine.gives
        )

    @cached_property
    def pitfalls(self) -> tuple[str, ...]:
        """Ids of the mistakes that can be made in a solution, in the order of the catalogue."""
        solutions = {reference.name for reference in REFERENCES.values() if reference.problem == self.id}
        return tuple(
            entry.id for entry in catalogue() if any(solutions.intersection(form.references) for form in entry.forms)
        )


def _head(function: ast.FunctionDef, indent: int) -> str:
    margin = " " * indent
    return f"{margin}def {function.name}({ast.unparse(function.args)}):\n{margin}    ..."
