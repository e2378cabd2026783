"""Which version of the tables a database has, and bringing an older one up to date."""

import threading
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, Engine, exc, inspect, text

from core.errors import Explained, Unavailable
from core.progress._database import explain, kind_of
from core.progress._tables import VERSION_TABLE, Base

HEAD = "001"
"""The newest version, which the tables of this code are."""
MIGRATIONS = Path(__file__).parent / "_migrations"

_one_at_a_time = threading.Lock()  # Alembic keeps what it works on in module globals


def version(connection: Connection) -> str | None:
    """The version of the tables; None where there are none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def upgrade(engine: Engine, place: str, before: Callable[[], object] = lambda: None) -> None:
    """Bring the tables up to date, all of it or nothing; `before` is called first where there are tables already.

    Raises Unavailable where the version is none we know, and where a migration fails.
    """
    from alembic import command  # a tenth of a second that most starts do without
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = None
    try:
        with _one_at_a_time, engine.execution_options(writes=True).begin() as connection:
            if connection.dialect.name == "postgresql":  # SQLite's write lock is taken; here two could begin at once
                connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('headwise'))"))
            found = version(connection)
            if found not in known | {None}:
                raise Unavailable("progress.newer", place=place, version=found)
            if found not in (HEAD, None):
                before()
            config.attributes.update(connection=connection, version_table=VERSION_TABLE)
            command.upgrade(config, HEAD)
    except Explained:
        raise
    except Exception as error:
        if isinstance(error, exc.DBAPIError) and (found is None or kind_of(error.orig)):
            raise explain(error, place) from error  # no room, say: it has little to do with versions
        detail = next(iter(str(error).splitlines()), type(error).__name__)
        raise Unavailable("progress.not-migrated", place=place, detail=detail) from error


def lacks(connection: Connection) -> str | None:
    """A table or column that should be there and is not."""
    there = inspect(connection)
    for name, table in Base.metadata.tables.items():
        if not there.has_table(name):
            return name
        columns = {column["name"] for column in there.get_columns(name)}
        if missing := set(table.columns.keys()) - columns:
            return f"{name}.{min(missing)}"
    return None
