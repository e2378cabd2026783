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

from pydantic import Field, ValidationError

from core.errors import BadInput
from core.pitfalls import IDS
from core.quiz import files
from core.quiz.bank import BANK, read_topics
from core.quiz.faults import Fault, Place, of_validation
from core.quiz.generators._sizes import SIZES
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


class Templates(NamedTuple):
    """The entries by their ids, in the order in which the topics are taught, and what was wrong with others."""

    entries: Mapping[str, Template]
    faults: tuple[Fault, ...]


@cache
def load_templates(folder: Path = FOLDER) -> Templates:
    """All entries of a folder. Never raises for a bad file: what has a fault is left out."""
    reader = _Reader()
    for path in sorted(folder.glob("*.yaml")):
        reader.read(path)
    order = {topic.id: number for number, topic in enumerate(read_topics(BANK))}
    entries = sorted(reader.found.values(), key=lambda one: order.get(one.topic, len(order)))
    return Templates({template.id: template for template in entries}, tuple(reader.faults))


class _Reader:
    def __init__(self) -> None:
        self.found: dict[str, Template] = {}
        self.faults: list[Fault] = []

    def read(self, path: Path) -> None:
        try:
            document = files.parse(path.read_text(encoding="utf-8"))
        except files.YamlError as error:
            self._fault(Place(path, error.line), None, "yaml-broken", detail=error.detail)
            return
        except (OSError, UnicodeDecodeError) as error:
            self._fault(Place(path, 1), None, "file-unreadable", name=path.name, detail=error)
            return
        if not isinstance(document.data, list):
            self._fault(Place(path, 1), None, "file-not-a-list", name=path.name)
            return
        for number, item in enumerate(document.data):
            node = files.child(document.node, number)
            name = item.get("id") if isinstance(item, dict) and isinstance(item.get("id"), str) else None
            try:
                template = Template.model_validate(item)
            except ValidationError as error:
                self.faults += of_validation(path, node, name, error)
                continue
            place = Place(path, files.line_of(node, ()))
            if template.id in self.found:
                self._fault(place, name, "id-twice", name=name, first=path.name)
            elif template.id not in SIZES:
                self._fault(place, name, "generator-draws-nothing", name=name)
            else:
                self.found[template.id] = template

    def _fault(self, place: Place, question: str | None, code: str, **params: object) -> None:
        self.faults.append(Fault(place, question, BadInput(f"quiz.{code}", **params)))
