"""What only a server does: it goes away, comes back, refuses, is brought up to date."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from core.errors import LANGS, Unavailable
from core.progress import Store, _database, _versions, open_store
from tests.core.progress import server
from tests.core.progress.files import SECOND
from tests.core.progress.samples import NOW, fill, given


@pytest.fixture
def filled(postgresql: server.Server) -> Iterator[tuple[Store, str]]:
    """A store on the server with something of everything, and its URL."""
    url = postgresql.new_database()
    store = open_store(url)
    fill(store)
    yield store, url
    store.close()


def test_a_server_that_goes_away_is_told_and_comes_back(postgresql: server.Server, filled: tuple[Store, str]) -> None:
    store, url = filled
    before = store.export()
    postgresql.stop()
    try:
        for use in (lambda: store.answer(given("meanwhile")), store.answers):
            with pytest.raises(Unavailable) as raised:
                use()
            assert raised.value.code == "progress.unreachable"
            assert all(part for lang in LANGS for part in raised.value.parts(lang))
        without = open_store(url)
        assert [notice.code for notice in without.notices] == ["progress.unreachable"]
        assert without.place is None
        without.answer(given())
        assert len(without.answers()) == 1
        without.close()
    finally:
        postgresql.start()
    assert store.export() == before
    store.answer(given("afterwards"))
    assert store.answers(question="afterwards")


def test_a_password_is_never_told(postgresql: server.Server) -> None:
    url = postgresql.url("nowhere").replace("headwise@", "headwise:secret@")
    store = open_store(url)
    (notice,) = store.notices
    assert notice.code == "progress.unreachable"
    assert all("nowhere" in notice.parts(lang).given and "secret" not in str(notice.parts(lang)) for lang in LANGS)
    store.close()
    kept = open_store(postgresql.new_database().replace("headwise@", "headwise:secret@"))
    assert "secret" not in str(kept.place)
    kept.close()


def test_a_server_that_only_reads(filled: tuple[Store, str]) -> None:
    store, url = filled
    before = store.export()
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"ALTER DATABASE {engine.url.database} SET default_transaction_read_only = on"))
    engine.dispose()
    store.close()
    with pytest.raises(Unavailable) as raised:
        store.answer(given())
    assert raised.value.code == "progress.read-only"
    assert store.export() == before


def test_a_server_whose_rows_stay_locked(filled: tuple[Store, str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, url = filled
    monkeypatch.setattr(_database, "PATIENCE", 1)
    store = open_store(url)
    engine = create_engine(url)
    with engine.begin() as other:
        other.execute(text("SELECT * FROM profiles FOR UPDATE"))
        with pytest.raises(Unavailable) as raised:
            store.answer(given())
        assert raised.value.code == "progress.locked"
        store.of("another").answer(given())  # another profile does not wait
    engine.dispose()
    assert len(store.answers()) == 3
    store.close()


def test_an_older_store_is_brought_up_to_date(
    filled: tuple[Store, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, url = filled
    shutil.copytree(_versions.MIGRATIONS, tmp_path / "migrations")
    (tmp_path / "migrations" / "versions" / "v002_second.py").write_text(SECOND + "    raise ValueError('half way')\n")
    with pytest.MonkeyPatch.context() as newer:
        newer.setattr(_versions, "MIGRATIONS", tmp_path / "migrations")
        newer.setattr(_versions, "HEAD", "002")
        failed = open_store(url)
        assert [notice.code for notice in failed.notices] == ["progress.not-migrated"]
        failed.close()
        assert {answer.topic for answer in store.answers()} == {"split"}  # all of it, or nothing
        (tmp_path / "migrations" / "versions" / "v002_second.py").write_text(SECOND)
        migrated = open_store(url)
        assert (migrated.notices, {answer.topic for answer in migrated.answers()}) == ((), {"moved"})
        migrated.answer(given("afterwards", at=NOW))
        migrated.close()
    older = open_store(url)
    assert [notice.code for notice in older.notices] == ["progress.newer"]
    older.close()
