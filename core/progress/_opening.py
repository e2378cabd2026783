"""Opening the store: never fails, says what had to be done about it."""

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import filelock
import platformdirs
from sqlalchemy import URL, Engine, exc, make_url

from core.errors import Explained, Unavailable
from core.progress import _database, _versions
from core.progress._database import Database, explained, kind_of
from core.progress._tables import Base
from core.progress.store import Store

NAME = "headwise.db"
PROFILE = "local"
LONG = 30
"""Seconds to wait for another process that opens the store: it may have to migrate a large one."""

Notice = Callable[[Explained], None]


def open_store(url: str | None = None) -> Store:
    notices: list[Explained] = []
    try:
        database = _open(url or os.environ.get("HEADWISE_DB"), notices.append)
    except Unavailable as problem:
        notices.append(problem)
        database = _in_memory()
    return Store(database, PROFILE, tuple(notices))


def _open(url: str | None, notice: Notice) -> Database:
    if url is None:
        return _open_file(platformdirs.user_data_path("headwise", appauthor=False) / NAME, notice)
    try:
        address = make_url(url)
        if address.get_backend_name() != "sqlite":
            return _open_server(address)
    except exc.ArgumentError as error:  # whose text may hold the password
        raise Unavailable("progress.bad-url") from error
    except ModuleNotFoundError as error:
        raise Unavailable("progress.no-driver", module=error.name) from error
    if address.database in (None, "", ":memory:"):
        return _in_memory()
    return _open_file(Path(address.database).expanduser().absolute(), notice)


def _in_memory() -> Database:
    engine = _database.memory()
    Base.metadata.create_all(engine)  # no migration is needed for what does not last, and none can fail
    return Database(engine, "")


def _open_server(url: URL) -> Database:
    place = url.render_as_string(hide_password=True)
    engine = _database.server(url)
    try:
        with explained(place):
            with engine.connect() as connection:
                found = _versions.version(connection)
            if found != _versions.HEAD:
                _versions.upgrade(engine, place)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine, place)


def _open_file(path: Path, notice: Notice) -> Database:
    place = str(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # one process at a time looks, moves aside and migrates
        with filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=LONG):
            engine = _prepared(path, place, notice)
    except (OSError, Unavailable) as error:
        problem = error if isinstance(error, Unavailable) else _explain(error, place)
        engine = _only_reading(path)
        if engine is None:
            raise problem from error
        notice(problem)
    return Database(engine, place)


def _explain(error: OSError, place: str) -> Unavailable:
    if isinstance(error, filelock.Timeout):
        return Unavailable("progress.locked", place=place, seconds=LONG)
    return Unavailable("progress.not-opened", place=place, detail=error.strerror or str(error))


def _prepared(path: Path, place: str, notice: Notice) -> Engine:
    """The file as an engine, sound, up to date and ready to be written. Raises Unavailable where it cannot be so."""
    if damage := _damage(path, place):
        kept = _move_aside(path)
        notice(Unavailable("progress.damaged", place=place, detail=damage, kept=kept.name))
    engine = _database.file(path)
    try:
        with explained(place), engine.connect() as connection:
            found = _versions.version(connection)
        if found != _versions.HEAD:
            backups: list[Path] = []
            _versions.upgrade(engine, place, before=lambda: backups.append(_back_up(path, place)))
            for backup in backups:
                notice(Explained("progress.migrated", place=place, backup=backup.name))
        with explained(place), engine.execution_options(writes=True).connect() as connection:
            connection.exec_driver_sql(
                "PRAGMA user_version = 0"
            )  # a write, which is not committed; or why there is none
    except BaseException:
        engine.dispose()
        raise
    return engine


def _damage(path: Path, place: str) -> str | None:
    """What is wrong with the file, or None; also None where there is none yet."""
    if not path.exists() or not path.stat().st_size:
        return None
    engine = _database.file(path, only_reading="?mode=ro")  # which leaves a damaged file, and its log, as they are
    with explained(place):
        try:
            with engine.connect() as connection:
                said = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
                if said != "ok":
                    return said.splitlines()[-1]
                if _versions.version(connection) == _versions.HEAD and (missing := _versions.lacks(connection)):
                    return f"{missing} is missing"
        except exc.DBAPIError as error:
            if kind_of(error.orig) != "damaged-meanwhile":
                raise
            return str(error.orig)
        finally:
            engine.dispose()
    return None


def _move_aside(path: Path) -> Path:
    kept = _beside(path, "damaged")
    for end in ("-shm", "-wal", ""):  # what SQLite keeps beside a file belongs to it, and never to a fresh one
        part = path.with_name(path.name + end)
        if part.exists():
            part.rename(kept.with_name(kept.name + end))
    return kept


def _back_up(path: Path, place: str) -> Path:
    backup = _beside(path, "before-migration")
    unfinished = backup.with_name(f".{backup.name}.part")
    with explained(place):
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(unfinished)) as target:
            source.backup(target)
        unfinished.replace(backup)
    return backup


def _beside(path: Path, word: str) -> Path:
    """A name in the same folder that nothing has: headwise.damaged-20261201T024307Z.db."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    name = f"{path.stem}.{word}-{stamp}"
    names = (f"{name}{more}{path.suffix}" for more in ("Z", *(f".{i}Z" for i in range(1, 1000))))
    return next(path.with_name(name) for name in names if not path.with_name(name).exists())


def _only_reading(path: Path) -> Engine | None:
    """The file as an engine that reads what is there, or None where that cannot be."""
    wal = path.with_name(f"{path.name}-wal")
    ways = ["?mode=ro"]
    if not (wal.exists() and wal.stat().st_size):
        ways.append("?mode=ro&immutable=1")  # in a folder where SQLite cannot lay its files beside this one
    for way in ways if path.is_file() else []:
        engine = _database.file(path, only_reading=way)
        try:
            with engine.connect() as connection:
                if _versions.version(connection) == _versions.HEAD and not _versions.lacks(connection):
                    return engine
        except exc.DBAPIError:
            pass
        engine.dispose()
    return None
