"""The data of a generator: an entry of a file in ``quiz_data/generators``.

An entry looks like a question of the bank, with ``{H}`` for a drawn size in its code and words. Instead of an answer
it has what other people get wrong on the same sizes: `mistakes`, each an expression that is run after the proof, under
the id of its pitfall where it has one. In the words may stand as well ``{answer}``, the value of a mistake
(``{scale-missing}``), of one of the `figures`, and ``{phrase}``: the one of the `phrases` that the expression `phrase`
names after the run. What depends on the kind:

- shape, strides, number: the answer is the result of the proof;
- one-choice with `mistakes`: it stands among the values of (at most three of) them;
- one-choice and several-choices with `options`: right is what holds in the run;
- raises: the one of the `outcomes` that the run has;
- pairs: each of `left` with its value in the run, and the mistakes as items on the right that match nothing.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from core.pitfalls import IDS
from core.quiz import files
from core.quiz.schema import Id, Strict, Text

FOLDER = Path(__file__).parents[3] / "quiz_data" / "generators"


class Generator(NamedTuple):
    """What can be known of a generator before a question is made. `pitfalls`: all that its questions may name."""

    id: str
    topic: str
    level: int
    kind: str
    pitfalls: tuple[str, ...]
    name: Text


class Words(Strict):
    """A text in both languages with sizes yet to be filled in; it is checked as `Text` when it has them."""

    en: str
    zh: str


class Choice(Strict):
    """An option, or an item on the left of pairs; the fields are those of the question's, filled in later."""

    id: Id
    text: Words | None = None
    code: str | None = None
    claims: str | None = None
    holds: str | None = None
    value: str | None = None


class Outcome(Strict):
    id: Id
    line: int | None = None
    error: str | None = None


class Template(Strict):
    """One entry. Braces that are to stay are doubled, as in `str.format`."""

    id: Annotated[Id, Field(pattern="^gen-", max_length=52)]
    kind: Literal["one-choice", "several-choices", "shape", "strides", "number", "raises", "pairs"]
    topic: Id
    level: Annotated[int, Field(ge=1, le=3)]
    name: Text
    pitfalls: Annotated[tuple[Id, ...], Field(strict=False)] = ()
    """Those that no mistake stands for."""
    prompt: Words
    given: str = ""
    code: str = ""
    proof: str = ""
    mistakes: dict[Id, str] = Field(default_factory=dict)
    options: Annotated[tuple[Choice, ...], Field(strict=False)] = ()
    outcomes: Annotated[tuple[Outcome, ...], Field(strict=False)] = ()
    left: Annotated[tuple[Choice, ...], Field(strict=False)] = ()
    figures: dict[str, str] = Field(default_factory=dict)
    phrase: str = ""
    phrases: dict[str, Words] = Field(default_factory=dict)
    explanation: Words
    unit: str | None = None
    tolerance: float = 0.0
    source: dict[str, str] | None = None
    walk: str | None = None

    @property
    def generator(self) -> Generator:
        return Generator(self.id, self.topic, self.level, self.kind, self.pitfalls_among(self._named()), self.name)

    def _named(self) -> Iterator[str]:
        yield from self.mistakes
        yield from (one.id for one in (*self.options, *self.outcomes))

    def pitfalls_among(self, ids: Iterator[str]) -> tuple[str, ...]:
        """The pitfalls of a question that has answers with these `ids`."""
        return tuple(dict.fromkeys([*self.pitfalls, *(id_ for id_ in ids if id_ in IDS)]))


@cache
def load_templates() -> Mapping[str, Template]:
    """All entries by their ids, in the order in which the topics are taught. Raises for a file with a fault in it."""
    topics = TypeAdapter(list[dict]).validate_python(_data(FOLDER.parent / "questions" / "_topics.yaml"))
    order = [topic["id"] for topic in topics]
    entries = [
        entry for path in sorted(FOLDER.glob("*.yaml")) for entry in TypeAdapter(list).validate_python(_data(path))
    ]
    templates = sorted(map(Template.model_validate, entries), key=lambda one: order.index(one.topic))
    return {template.id: template for template in templates}


def _data(path: Path) -> object:
    return files.parse(path.read_text(encoding="utf-8")).data
