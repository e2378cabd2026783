"""Opening: whatever state the file is in, practising can begin, and the person is told."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import platformdirs
import pytest
from sqlalchemy import Engine, inspect

from core.errors import LANGS, Explained, Unavailable
from core.progress import _database, _versions, open_store
from core.progress._tables import VERSION_TABLE, Base
from tests.core.progress.files import SECOND, beside, filled, opened, sql, works


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "headwise.db"


@pytest.fixture
def second_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The migrations with one more; gives its file."""
    folder = tmp_path / "migrations 100%"
    shutil.copytree(_versions.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "v002_second.py").write_text(SECOND)
    monkeypatch.setattr(_versions, "MIGRATIONS", folder)
    monkeypatch.setattr(_versions, "HEAD", "002")
    return folder / "versions" / "v002_second.py"


# Where ---------------------------------------------------------------------------------------------------------------


def test_without_a_word_it_is_in_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWISE_DB", raising=False)
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *_, **__: tmp_path / "not made yet")
    store = open_store()
    assert store.place == str(tmp_path / "not made yet" / "headwise.db")
    assert (store.profile, store.notices) == ("local", ())
    assert works(store)


def test_the_environment_says_where(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWISE_DB", f"sqlite:///{file}")
    store = open_store()
    assert store.place == str(file)
    assert works(store)


def test_it_is_there_when_it_is_opened_again(file: Path) -> None:
    export = filled(file)
    store = opened(file)
    assert store.export() == export
    store.close()


def test_the_file_is_kept_with_care(file: Path) -> None:
    engine: Engine = _database.file(file)
    with engine.connect() as connection:
        said = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    engine.dispose()
    assert said == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_in_memory_where_that_is_asked_for() -> None:
    store = open_store("sqlite://")
    assert (store.place, store.notices) == (None, ())
    assert works(store)


# Versions ------------------------------------------------------------------------------------------------------------


def test_the_migrations_make_the_tables_of_the_code(file: Path) -> None:
    opened(file).close()
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = _database.file(file)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": Base.metadata}
        )
        differences = compare_metadata(context, Base.metadata)
        keys = {
            name: inspect(connection).get_pk_constraint(name)["constrained_columns"] for name in Base.metadata.tables
        }
    engine.dispose()
    assert differences == []
    assert keys == {name: list(table.primary_key.columns.keys()) for name, table in Base.metadata.tables.items()}


def test_an_older_file_is_brought_up_to_date_after_a_copy(file: Path, second_version: Path) -> None:
    with pytest.MonkeyPatch.context() as older:
        older.setattr(_versions, "HEAD", "001")
        filled(file)
    before = sql(file, "SELECT * FROM answers ORDER BY id")
    store = opened(file, "migrated")
    assert {answer.topic for answer in store.answers()} == {"moved"}
    assert works(store)
    (copy,) = beside(file, "before-migration")
    assert store.notices[0].params["backup"] == copy.name
    assert sql(copy, "SELECT * FROM answers ORDER BY id") == before
    assert sql(copy, f"SELECT version_num FROM {VERSION_TABLE}") == [("001",)]
    assert sql(file, "SELECT DISTINCT mood FROM answers") == [("calm",)]
    assert works(opened(file))  # and once only


@pytest.mark.parametrize("fault", ["raise ValueError('half way')", "op.execute('DROP TABLE nowhere')"])
def test_a_migration_that_fails_leaves_everything_as_it_was(file: Path, second_version: Path, fault: str) -> None:
    with pytest.MonkeyPatch.context() as older:
        older.setattr(_versions, "HEAD", "001")
        export = filled(file)
    second_version.write_text(f"{SECOND}    {fault}\n")
    store = opened(file, "not-migrated")
    assert store.place is None
    assert works(store)
    with pytest.MonkeyPatch.context() as older:
        older.setattr(_versions, "HEAD", "001")
        store = opened(file)
        assert store.export() == export
        store.close()


def test_a_file_of_a_newer_version_is_left_alone(file: Path) -> None:
    filled(file)
    sql_before = sql(file, "SELECT * FROM answers")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '999'")
        connection.commit()
    content = file.read_bytes()
    store = opened(file, "newer")
    assert store.place is None
    assert works(store)
    assert file.read_bytes() == content
    assert sql(file, "SELECT * FROM answers") == sql_before
    assert beside(file, "before-migration") == beside(file, "damaged") == []


# Damage --------------------------------------------------------------------------------------------------------------


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwritten(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for place in range(4096, len(content), 4096):
        content[place : place + 64] = b"\xff" * 64
    file.write_bytes(content)


def another(file: Path) -> None:
    file.write_text("This is no database. " * 500)


def table_lost(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE cards")


@pytest.mark.parametrize("damage", [cut, overwritten, another, table_lost])
def test_a_damaged_file_is_kept_aside_and_a_fresh_one_started(file: Path, damage) -> None:
    filled(file)
    damage(file)
    content = file.read_bytes()
    store = opened(file, "damaged")
    (kept,) = (path for path in beside(file, "damaged") if path.suffix == ".db")
    assert kept.name == store.notices[0].params["kept"]
    assert kept.read_bytes() == content
    assert (store.place, store.answers()) == (str(file), ())
    assert works(store)
    assert works(opened(file))  # said once


def test_what_lies_beside_a_damaged_file_goes_with_it(file: Path) -> None:
    another(file)
    file.with_name("headwise.db-wal").write_text("of the damaged file")
    opened(file, "damaged").close()
    assert [path.read_text() for path in beside(file, "damaged") if path.name.endswith("-wal")] == [
        "of the damaged file"
    ]


def test_an_empty_file_is_no_damage(file: Path) -> None:
    file.touch()
    assert works(opened(file))


@pytest.mark.parametrize("damage", ["given = '{'", "at = 'yesterday'"])
def test_a_row_that_says_nothing_is_told_where_it_is_read(file: Path, damage: str) -> None:
    filled(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"UPDATE answers SET {damage}")
        connection.commit()
    store = opened(file)
    with pytest.raises(Unavailable) as raised:
        store.answers()
    assert raised.value.code == "progress.damaged-meanwhile"
    assert store.draft("mha")  # what is sound is read
    store.close()


# What cannot be opened at all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("no url at all: secret", "bad-url"),
        ("nosuchdatabase://user:secret@host/name", "bad-url"),
        ("mysql+pymysql://user:secret@host/name", "no-driver"),
        ("sqlite:////proc/nowhere/headwise.db", "not-opened"),
    ],
)
def test_without_a_store_practising_goes_on_in_memory(url: str, code: str) -> None:
    store = open_store(url)
    (notice,) = store.notices
    assert isinstance(notice, Explained)
    assert notice.code == f"progress.{code}"
    assert all("secret" not in " ".join(notice.parts(lang)) for lang in LANGS)
    assert store.of("other").notices == store.notices
    assert store.place is None
    assert works(store)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert works(opened(tmp_path, "not-opened"))


# What is imported ----------------------------------------------------------------------------------------------------


def test_importing_is_light_and_opening_needs_alembic_for_a_migration_alone(file: Path) -> None:
    filled(file)
    code = f"""
import sys, core.progress, core.progress.summary
print({{'torch', 'sqlalchemy', 'alembic', 'streamlit'}} & sys.modules.keys())
core.progress.open_store('sqlite:///{file}').close()
print({{'torch', 'alembic', 'streamlit'}} & sys.modules.keys())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "set()\nset()\n"
