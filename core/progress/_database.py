"""Engines, transactions, and what a failing database means in words."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, exc
from sqlalchemy.orm import Session

from core.errors import Explained, Unavailable
from core.progress._tables import ProfileRow

PATIENCE = 5
"""Seconds that a write waits for others; a person waits for it."""

_SQLSTATES = {  # PostgreSQL's
    "53100": "disk-full",
    "25006": "read-only",
    "55P03": "locked",  # lock_not_available
    "40P01": "locked",  # deadlock_detected
}
_SQLITE = {
    sqlite3.SQLITE_FULL: "disk-full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_CANTOPEN: "not-opened",
    sqlite3.SQLITE_CORRUPT: "damaged-meanwhile",
    sqlite3.SQLITE_NOTADB: "damaged-meanwhile",
}


class Database:
    """An engine and its transactions. Shared by threads and by the stores of all profiles."""

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine = engine
        self.place = place
        self._writer = engine.execution_options(writes=True)

    @contextmanager
    def reading(self) -> Generator[Session]:
        """A transaction that sees one state of the database and changes nothing. Raises Unavailable."""
        try:
            with explained(self.place), Session(self.engine) as session:
                yield session
        except Explained:
            raise
        except ValueError as error:  # a row that says nothing: no check of a file looks into texts
            raise Unavailable("progress.damaged-meanwhile", place=self.place, detail=str(error)) from error

    @contextmanager
    def writing(self, profile: str) -> Generator[Session]:
        """A transaction in which no other one writes for `profile`; durable once left, undone where it raises.

        Raises Unavailable where the database cannot be written.
        """
        with explained(self.place), Session(self._writer) as session, session.begin():
            if session.get(ProfileRow, profile, with_for_update=True) is None:
                self._enter(session, profile)
            yield session

    @staticmethod
    def _enter(session: Session, profile: str) -> None:
        try:
            with session.begin_nested():
                session.add(ProfileRow(id=profile))
        except exc.IntegrityError:  # another process was quicker
            session.get_one(ProfileRow, profile, with_for_update=True)


def memory() -> Engine:
    """A database that ends with the process: one connection, which threads take in turn."""
    return _sqlite(":memory:", pool_size=1, max_overflow=0, pool_timeout=PATIENCE)


def file(path: Path, *, only_reading: str = "") -> Engine:
    """The SQLite file `path`, made where it is missing; `only_reading`: its URI's parameters, for one not to write."""
    return _sqlite(f"file:{quote(str(path))}{only_reading}", bool(only_reading))


def server(url: URL) -> Engine:
    """The database of a server. Its connections are tried before they are used, for a server may have restarted."""
    arguments = {}
    if url.get_backend_name() == "postgresql":
        arguments = {"connect_timeout": PATIENCE, "options": f"-c lock_timeout={PATIENCE * 1000}"}
    return create_engine(url, pool_pre_ping=True, connect_args=arguments)


def _sqlite(database: str, only_reading: bool = False, **pool: int) -> Engine:
    def connect() -> sqlite3.Connection:
        # isolation_level None: the driver begins nothing by itself, so that we can say how
        return sqlite3.connect(database, PATIENCE, isolation_level=None, check_same_thread=False, uri=True)

    def set_up(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
        if not only_reading:
            connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer do not wait for each other

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, **pool)
    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    # A write takes its lock at once: one that began by reading could not get it while another waits for the same.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@contextmanager
def explained(place: str) -> Generator[None]:
    """Raises Unavailable, which names `place`, for whatever a database raises."""
    try:
        yield
    except (exc.DBAPIError, sqlite3.Error) as error:
        raise explain(error, place) from error
    except exc.TimeoutError as error:
        raise Unavailable("progress.locked", place=place, seconds=PATIENCE) from error


def explain(error: exc.DBAPIError | sqlite3.Error, place: str) -> Unavailable:
    """What a database raised, in words that name `place`."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    detail = next(iter(str(cause).splitlines()), type(cause).__name__)
    match kind_of(cause):
        case "disk-full":
            return Unavailable("progress.disk-full", place=place)
        case "read-only":
            return Unavailable("progress.read-only", place=place)
        case "locked":
            return Unavailable("progress.locked", place=place, seconds=PATIENCE)
        case "not-opened":
            return Unavailable("progress.not-opened", place=place, detail=detail)
        case "damaged-meanwhile":
            return Unavailable("progress.damaged-meanwhile", place=place, detail=detail)
        case "unreachable":
            return Unavailable("progress.unreachable", place=place, detail=detail)
    return Unavailable("progress.failed", place=place, detail=detail)


def kind_of(cause: BaseException | None) -> str:
    """What a driver's error means, as the code of an error of ours; "" where it is none of those we know."""
    if isinstance(cause, sqlite3.Error):
        return _SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "")
    state = getattr(cause, "sqlstate", None)
    if state in _SQLSTATES:
        return _SQLSTATES[state]
    # a server says why; where nothing was said, or a class of its own, nobody is there
    is_gone = type(cause).__name__ in ("OperationalError", "InterfaceError", "ConnectionTimeout") and state is None
    return "unreachable" if is_gone or str(state).startswith(("08", "57P")) else ""
