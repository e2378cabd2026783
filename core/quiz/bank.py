"""Loading the question files.

A bank is a folder: ``<topic>.yaml`` files, each a list of questions, and beside them

- ``_topics.yaml``: the topics in the order in which they are taught, with their names;
- ``_ids.txt``: every id that was ever published, one a line, followed by ``retired`` where its question is gone.

The pitfalls that a question names are those of `core.pitfalls`.

A fault takes one question (or one unreadable file) out and is kept in `Bank.faults`; the rest is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import yaml
from pydantic import TypeAdapter, ValidationError

from core.errors import BadInput
from core.pitfalls import IDS
from core.quiz import files
from core.quiz.faults import Fault, Place, of_validation
from core.quiz.kinds import ADAPTER
from core.quiz.schema import Id, Question, Strict, Text

BANK = Path(__file__).parents[2] / "quiz_data" / "questions"


class Topic(Strict):
    """A topic's id and its name in both languages."""

    id: Id
    name: Text


@dataclass(frozen=True)
class Bank:
    """The questions in the order of their topics, and what was left out. Immutable: shared by all who read it.

    `topics` are those that have questions. `places` says where each question stands. `ids` are the published ids:
    True while the question is to be asked, False when retired.
    """

    path: Path
    questions: tuple[Question, ...]
    faults: tuple[Fault, ...]
    topics: tuple[Topic, ...]
    places: Mapping[str, Place]
    ids: Mapping[str, bool]

    def question(self, id_: str) -> Question | None:
        """The question with this id, or None (an id from a link may be anything)."""
        return next((question for question in self.questions if question.id == id_), None)

    def of(self, topic: str | None = None, level: int | None = None) -> tuple[Question, ...]:
        """The questions of a topic, of a level, or of both; all where neither is given."""
        return tuple(q for q in self.questions if topic in (None, q.topic) and level in (None, q.level))


def load_bank(path: Path = BANK) -> Bank:
    """The bank in the folder `path`, read again only when a file of it has changed. Never raises for a bad file."""
    path = path.resolve()
    found = sorted([*path.glob("*.yaml"), *path.glob("*.txt")])
    stamp = tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in found)
    return _load(path, stamp)


def read_topics(path: Path = BANK) -> Sequence[Topic]:
    """The topics alone, in the order in which they are taught; none where they cannot be read."""
    return _Reader(path).topics()


@lru_cache(maxsize=4)
def _load(path: Path, stamp: tuple[tuple[str, int, int], ...]) -> Bank:
    reader = _Reader(path)
    topics = reader.topics()
    ids = reader.ids()
    for name, _, _ in stamp:
        if name.endswith(".yaml") and not name.startswith("_"):
            reader.questions(path / name, {topic.id for topic in topics}, ids)
    if not reader.found and not reader.faults:
        reader.fault(Place(path, 1), None, "no-questions", path=path)
    order = [topic.id for topic in topics]
    questions = sorted(reader.found.values(), key=lambda question: order.index(question.topic))
    used = {question.topic for question in questions}
    return Bank(
        path=path,
        questions=tuple(questions),
        faults=tuple(reader.faults),
        topics=tuple(topic for topic in topics if topic.id in used),
        places=MappingProxyType(reader.places),
        ids=MappingProxyType(ids),
    )


class _Reader:
    """What has been read so far, and what was wrong with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Question] = {}
        self.places: dict[str, Place] = {}
        self.faults: list[Fault] = []

    def fault(self, place: Place, question: str | None, code: str, **params: object) -> None:
        self.faults.append(Fault(place, question, BadInput(f"quiz.{code}", **params)))

    def text(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.fault(Place(path, 1), None, "file-unreadable", name=path.name, detail=error)
            return ""

    def lines(self, name: str) -> list[tuple[int, list[str]]]:
        """The words of each line that has any, without comments, and the number of the line."""
        lines = enumerate(self.text(self.path / name).splitlines(), 1)
        words = ((number, line.partition("#")[0].split()) for number, line in lines)
        return [(number, line) for number, line in words if line]

    def ids(self) -> dict[str, bool]:
        ids = {}
        for number, (id_, *rest) in self.lines("_ids.txt"):
            if rest not in ([], ["retired"]) or id_ in ids:
                self.fault(Place(self.path / "_ids.txt", number), id_, "ids-line", line=" ".join([id_, *rest]))
            ids[id_] = ids.get(id_, True) and rest != ["retired"]
        return ids

    def document(self, path: Path) -> files.Document:
        try:
            return files.parse(self.text(path))
        except files.YamlError as error:
            self.fault(Place(path, error.line), None, "yaml-broken", detail=error.detail)
            return files.Document(None, None)

    def topics(self) -> list[Topic]:
        path = self.path / "_topics.yaml"
        document = self.document(path)
        if document.node is None:
            return []
        try:
            return TypeAdapter(list[Topic]).validate_python(document.data)
        except ValidationError as error:
            self.invalid(path, document.node, None, error)
            return []

    def questions(self, path: Path, topics: set[str], ids: Mapping[str, bool]) -> None:
        document = self.document(path)
        if document.node is None:
            return
        if not isinstance(document.data, list):
            self.fault(Place(path, 1), None, "file-not-a-list", name=path.name)
            return
        for number, item in enumerate(document.data):
            node = files.child(document.node, number)
            place = Place(path, files.line_of(node, ()))
            name = item.get("id") if isinstance(item, dict) and isinstance(item.get("id"), str) else None
            try:
                question = ADAPTER.validate_python(item)
            except ValidationError as error:
                self.invalid(path, node, name, error)
                continue
            unknown = [pitfall for pitfall in question.pitfalls if pitfall not in IDS]
            if question.id in self.found:
                first = self.places[question.id]
                self.fault(place, name, "id-twice", name=name, first=f"{first.path.name}:{first.line}")
            elif ids.get(question.id) is False:
                self.fault(place, name, "id-retired", name=name)
            elif question.topic not in topics:
                line = files.line_of(node, ("topic",))
                self.fault(Place(path, line), name, "topic-unknown", name=question.topic)
            elif unknown:
                line = files.line_of(node, ("pitfalls",))
                self.fault(Place(path, line), name, "pitfall-unknown", name=", ".join(unknown))
            else:
                self.found[question.id] = question
                self.places[question.id] = place

    def invalid(self, path: Path, node: yaml.Node | None, question: str | None, error: ValidationError) -> None:
        self.faults += of_validation(path, node, question, error)
