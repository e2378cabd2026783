"""A store's file, looked at from outside; and a version of the tables after the first, to be migrated to."""

import sqlite3
from contextlib import closing
from pathlib import Path

from core.errors import LANGS
from core.progress import Store, open_store
from tests.core.progress.samples import fill, given

SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "002"
down_revision = "001"


def upgrade() -> None:
    with op.batch_alter_table("answers") as answers:
        answers.add_column(sa.Column("mood", sa.String(20), nullable=False, server_default="calm"))
    op.execute("UPDATE answers SET topic = 'moved'")
"""


def opened(file: Path, *codes: str) -> Store:
    """The store in `file`, which was opened with notices of these codes and no others, all in words."""
    store = open_store(f"sqlite:///{file}")
    assert [notice.code for notice in store.notices] == [f"progress.{code}" for code in codes]
    for notice in store.notices:
        assert all(str(file) in notice.parts(lang).given for lang in LANGS)
    return store


def filled(file: Path) -> str:
    """A file with something of everything; gives its export."""
    store = opened(file)
    fill(store)
    export = store.export()
    store.close()
    return export


def works(store: Store) -> bool:
    store.answer(given("afterwards"))
    done = bool(store.answers(question="afterwards"))
    store.close()
    return done


def beside(file: Path, word: str) -> list[Path]:
    return sorted(path for path in file.parent.iterdir() if word in path.name)


def sql(file: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()
