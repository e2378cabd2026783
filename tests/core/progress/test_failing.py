"""When a write fails: a clear word, nothing half-written, and practising goes on."""

import itertools
import resource
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from core.errors import LANGS, Unavailable
from core.progress import Store, _database, open_store, schedule
from core.progress.schedule import Logged
from tests.core.progress.conftest import somebody_else
from tests.core.progress.samples import DAY, NOW, fill, given


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "headwise.db"


@pytest.fixture
def full(file: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{file}")
    fill(store)
    yield store
    store.close()


WRITES: dict[str, Callable[[Store], object]] = {
    "answer": lambda store: store.answer(given("another", given="x" * 15_000, at=NOW + DAY)),
    "make_due": lambda store: store.make_due([f"card {n:0190}" for n in range(400)], NOW),
    "submit": lambda store: store.submit("mha", "x" * 900_000, {}, True, [], NOW, "write"),
    "save_draft": lambda store: store.save_draft("mha", "x" * 900_000),
    "set_setting": lambda store: store.set_setting("theme", "x" * 19_000),
    "import_": lambda store: store.import_(much()),
}


def much() -> str:
    other = open_store("sqlite://")
    for number in range(20):
        other.submit("mha", str(number) * 50_000, {}, True, [], NOW, "write")
    try:
        return other.export()
    finally:
        other.close()


def consistent(store: Store) -> bool:
    """Whether every card is what its log makes of it: no answer without its review, no review without its answer."""
    logs: dict[str, list[Logged]] = {}
    for answer in store.answers():
        logs.setdefault(answer.card, []).append(Logged(answer.at, answer.id, answer.rating))
    reviews = store.reviews()
    return all(reviews[card].reps == len(log) for card, log in logs.items()) and all(
        reviews[card].stability == made.stability
        for card, log in logs.items()
        if (made := schedule.replay(log, None)) is not None
    )


def refused(store: Store, write: Callable[[Store], object], *codes: str) -> None:
    before = store.export()
    with pytest.raises(Unavailable) as raised:
        write(store)
    assert raised.value.code in {f"progress.{code}" for code in codes}
    assert all(part for lang in LANGS for part in raised.value.parts(lang))
    assert store.export() == before  # reading goes on
    assert consistent(store)


# No room -------------------------------------------------------------------------------------------------------------


@contextmanager
def no_room(store: Store) -> Generator[None]:
    """SQLite itself says that the disk is full once the file would grow."""
    engine = store._database.engine

    def limit(connection: sqlite3.Connection, *_: object) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(engine, "checkout", limit)
    yield
    event.remove(engine, "checkout", limit)
    engine.dispose()


@contextmanager
def no_room_for_files(file: Path) -> Generator[None]:
    """The system refuses to let a file grow past the size that it has: a write fails, or is cut off, half-way."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max((path.stat().st_size for path in file.parent.iterdir()), default=0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 5000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", WRITES)
def test_with_a_full_disk_nothing_is_half_written(full: Store, name: str) -> None:
    with no_room(full):
        for _ in range(8):  # small things may find room in the last page
            try:
                WRITES[name](full)
            except Unavailable:
                break
        refused(full, WRITES[name], "disk-full")
    WRITES[name](full)  # there is room again
    assert consistent(full)


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_the_system_cuts_off_is_undone(full: Store, file: Path, name: str) -> None:
    with no_room_for_files(file):
        for _ in itertools.count():
            try:
                WRITES[name](full)
            except Unavailable:
                break
        refused(full, WRITES[name], "disk-full", "failed")
    before = full.export()
    full.close()
    again = open_store(f"sqlite:///{file}")
    assert again.notices == ()
    assert again.export() == before
    WRITES[name](again)
    assert consistent(again)
    again.close()


def test_without_room_for_a_new_file_the_store_is_in_memory(file: Path) -> None:
    with no_room_for_files(file):
        store = open_store(f"sqlite:///{file}")
    assert [notice.code for notice in store.notices] == ["progress.failed"]
    assert store.place is None
    store.answer(given())
    store.close()
    again = open_store(f"sqlite:///{file}")
    assert (again.notices, again.place) == ((), str(file))
    again.close()


# Only reading --------------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(shared_folder: Path) -> Path:
    """A filled file in a folder that others may enter."""
    store = open_store(f"sqlite:///{shared_folder}/headwise.db")
    fill(store)
    store.close()
    (shared_folder / "headwise.db").chmod(0o644)
    (shared_folder / ".headwise.db.lock").unlink(missing_ok=True)
    return shared_folder / "headwise.db"


def test_a_file_that_may_only_be_read_is_read(shared: Path) -> None:
    shared.chmod(0o444)
    shared.parent.chmod(0o555)
    with somebody_else():
        store = open_store(f"sqlite:///{shared}")
        assert next(notice.code for notice in store.notices) in ("progress.not-opened", "progress.read-only")
        assert store.place == str(shared)
        assert (len(store.answers()), store.draft("mha")) == (3, "class Attention: …")
        for write in WRITES.values():
            refused(store, write, "read-only")
        store.close()


def test_a_file_that_may_only_be_read_in_a_folder_that_may_be_written(shared: Path) -> None:
    shared.chmod(0o444)
    shared.parent.chmod(0o777)
    with somebody_else():
        store = open_store(f"sqlite:///{shared}")
        assert [notice.code for notice in store.notices] == ["progress.read-only"]
        assert len(store.answers()) == 3
        refused(store, WRITES["answer"], "read-only")
        store.close()


def test_a_file_that_may_not_be_read_is_left_for_a_store_in_memory(shared: Path) -> None:
    shared.chmod(0o000)
    with somebody_else():
        store = open_store(f"sqlite:///{shared}")
        assert [notice.code for notice in store.notices] == ["progress.not-opened"]
        assert (store.place, store.answers()) == (None, ())
        store.answer(given())
        store.close()


def test_a_folder_that_may_not_be_written_gives_a_store_in_memory(shared_folder: Path) -> None:
    with somebody_else():
        store = open_store(f"sqlite:///{shared_folder}/new.db")
        assert [notice.code for notice in store.notices] == ["progress.not-opened"]
        assert store.place is None
        store.answer(given())
        assert len(store.answers()) == 1
        store.close()
    assert list(shared_folder.iterdir()) == []


# In use --------------------------------------------------------------------------------------------------------------


def test_a_store_that_stays_in_use_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_database, "PATIENCE", 0.05)
    store = open_store(f"sqlite:///{file}")
    fill(store)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for write in WRITES.values():
            refused(store, write, "locked")
        other.execute("ROLLBACK")
    WRITES["answer"](store)
    assert consistent(store)
    store.close()
