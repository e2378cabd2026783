"""Export and import: everything comes over, merging twice changes nothing more, and nothing false gets in."""

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as with_examples
from hypothesis import strategies as st

from core.errors import BadInput
from core.progress import Rating, Store, _transfer, open_store
from tests.core.progress.samples import DAY, NOW, fill, given

names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
times = st.integers(0, 10**15).map(lambda microseconds: NOW + timedelta(microseconds=microseconds))
acts = st.one_of(
    st.tuples(st.just("answer"), st.sampled_from("abc"), times, st.booleans(), json_values),
    st.tuples(st.just("submit"), names, texts, times, st.dictionaries(texts, json_values, max_size=2)),
    st.tuples(st.just("draft"), names, texts, times),
    st.tuples(st.just("setting"), names, json_values, times),
    st.tuples(st.just("due"), st.sampled_from("abc"), times),
    st.tuples(st.just("regrade"), st.sampled_from(list(Rating)), times),
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Store]:
    store = open_store("sqlite://")
    yield store
    store.close()


def do(store: Store, act: tuple[Any, ...]) -> None:
    match act:
        case "answer", card, at, right, value:
            store.answer(given(card, at, right=right, given=value))
        case "submit", problem, source, at, verdict:
            store.submit(problem, source, verdict, False, (), at, "write")
        case "draft", key, text, at:
            store.save_draft(key, text, at)
        case "setting", key, value, at:
            store.set_setting(key, value, at)
        case "due", card, at:
            store.make_due([card], at)
        case "regrade", rating, at:
            for answer in store.answers(limit=1):
                store.regrade(answer.id, rating, at)


def made(memory: Store, history: list[tuple[Any, ...]]) -> Store:
    store = memory.of(uuid.uuid4().hex)
    for act in history:
        do(store, act)
    return store


histories = st.lists(acts, max_size=8)
examples = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@examples
@with_examples(histories)
def test_the_round_trip_is_exact(memory: Store, history: list) -> None:
    store, copy = made(memory, history), made(memory, [])
    copy.import_(store.export())
    assert copy.export() == store.export()
    assert copy.reviews() == store.reviews()
    assert sum(copy.import_(store.export()).added.values()) == 0  # a second time: all is known
    assert copy.export() == store.export()


@examples
@with_examples(histories, histories)
def test_merging_loses_nothing_and_has_no_order(memory: Store, one: list, other: list) -> None:
    left, right = made(memory, one), made(memory, other)
    exports = left.export(), right.export()
    left.import_(exports[1])
    right.import_(exports[0])
    ids = [{answer.id for answer in store.answers()} for store in (left, right)]
    assert ids[0] == ids[1]
    kept = [answer["id"] for export in exports for answer in json.loads(export)["answers"]]
    assert ids[0] == set(kept)
    assert left.reviews() == right.reviews()


def test_on_either_database(store: Store) -> None:
    fill(store)
    copy = store.of("copy")
    done = copy.import_(store.export())
    assert done.added == {"answers": 3, "drafts": 1, "made_due": 2, "settings": 2, "submissions": 1}
    assert sum(done.known.values()) == 0
    assert (copy.export(), copy.reviews()) == (store.export(), store.reviews())


def test_the_newer_of_two_counts(memory: Store) -> None:
    store, copy = memory.of("newer"), memory.of("newer-copy")
    fill(store)
    copy.import_(store.export())
    store.save_draft("mha", "older", at=NOW - DAY)
    copy.regrade(copy.answers()[0].id, Rating.Easy, at=NOW + DAY)
    copy.save_draft("mha", "newer", at=NOW + DAY)
    store.regrade(store.answers()[0].id, Rating.Again, at=NOW - DAY)
    done = store.import_(copy.export())
    assert done.added == {"answers": 1, "drafts": 1, "made_due": 0, "settings": 0, "submissions": 0}
    assert (store.answers()[0].rating, store.draft("mha")) == (Rating.Easy, "newer")
    assert store.export() == copy.export()


def test_another_retention_that_comes_in_moves_every_date(memory: Store) -> None:
    store, other = memory.of("dates"), memory.of("dates-other")
    store.answer(given(seconds=1.0))
    before = store.reviews()["split-shape"].due
    other.set_setting("desired_retention", 0.97)
    store.import_(other.export())
    assert store.reviews()["split-shape"].due < before


def _changed(path: str, value: Any) -> Any:
    """A change of one place in a document; "…" takes it out."""

    def change(document: dict) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        inner: Any = document
        for step in steps:
            inner = inner[step]
        if value == "…":
            del inner[last]
        else:
            inner[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("answers/0/at", "yesterday", "answers.0.at"),
        ("answers/0/at", "2026-12-01T00:00:00", "answers.0.at"),
        ("answers/0/at", "0001-01-01T00:00:00+14:00", "answers.0.at"),
        ("answers/1/rating", 5, "answers.1.rating"),
        ("answers/0/rating", "3", "answers.0.rating"),
        ("answers/0/id", "../../etc", "answers.0.id"),
        ("answers/0/right", 1, "answers.0.right"),
        ("answers/0/seconds", -5, "answers.0.seconds"),
        ("answers/0/card", "a\u0000", "answers.0.card"),
        ("answers/0/given", "x" * 30_000, "answers.0.given"),
        ("answers/0/seed", 10**30, "answers.0.seed"),
        ("answers/0/profile", "somebody", "answers.0.profile"),
        ("answers/0/card", "…", "answers.0.card"),
        ("answers", {}, "answers"),
        ("submissions/0/verdict", [], "submissions.0.verdict"),
        ("drafts/mha/text", None, "drafts.mha.text"),
        ("made_due/split-shape", 17, "made_due.split-shape"),
        ("tables", [], "tables"),
    ],
)
def test_a_false_document_is_refused_at_its_place(memory: Store, path: str, value: Any, field: str) -> None:
    store = memory.of("false")
    fill(store)
    document = json.loads(store.export())
    _changed(path, value)(document)
    document["drafts"]["added"] = {"text": "must not come in", "at": "2026-12-01T00:00:00Z"}
    before = store.export()
    with pytest.raises(BadInput) as raised:
        store.import_(json.dumps(document))
    assert raised.value.code == "progress.import-invalid"
    assert str(raised.value.params["field"]).startswith(field)
    assert field in raised.value.parts("zh").given
    assert store.export() == before


DEEP = '{"format": "headwise-progress", "version": 1, "answers": ' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "{}", '{"format": "another", "version": 1}', "NaN", "\0", DEEP, "头", '{"format": 1e999}'],
)
def test_what_is_no_export_is_refused(memory: Store, text: str) -> None:
    with pytest.raises(BadInput) as raised:
        memory.import_(text)
    assert raised.value.code == "progress.import-foreign"


def test_the_export_of_a_newer_version_is_refused(memory: Store) -> None:
    with pytest.raises(BadInput) as raised:
        memory.import_('{"format": "headwise-progress", "version": 2, "new": []}')
    assert raised.value.code == "progress.import-newer"


def test_a_file_too_large_is_refused_unread(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transfer, "MAX_CHARACTERS", 1000)
    with pytest.raises(BadInput) as raised:
        memory.import_(" " * 1001)
    assert raised.value.code == "progress.import-too-large"


def test_a_setting_that_the_store_could_not_go_by_is_refused(memory: Store) -> None:
    store = memory.of("hostile")
    fill(store)
    document = json.loads(store.export())
    document["settings"]["desired_retention"] = {"value": 0, "at": "2030-01-01T00:00:00Z"}
    before = store.export()
    with pytest.raises(BadInput) as raised:
        store.import_(json.dumps(document))
    assert raised.value.code == "progress.bad-setting"
    assert store.export() == before


def test_an_answer_that_stands_twice_is_taken_once(memory: Store) -> None:
    store, copy = memory.of("twice"), memory.of("twice-copy")
    fill(store)
    document = json.loads(store.export())
    document["answers"] *= 2
    assert copy.import_(json.dumps(document)).added["answers"] == 3
    assert copy.export() == store.export()
