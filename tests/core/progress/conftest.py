import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

from core.progress import Store, open_store
from tests.conftest import refuse
from tests.core.progress import server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[server.Server]:
    refuse(server.missing(), os.environ)
    running = server.Server()
    yield running
    running.remove()


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/headwise.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Of an empty database, of each sort."""
    if request.param == "sqlite":
        return request.getfixturevalue("file_url")
    return request.getfixturevalue("postgresql").new_database()


@pytest.fixture(scope="session")
def ready_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without rows, to be copied."""
    file = tmp_path_factory.mktemp("ready") / "headwise.db"
    open_store(f"sqlite:///{file}").close()
    return file


@pytest.fixture(scope="session")
def ready_database(postgresql: server.Server) -> Iterator[Engine]:
    """The same on the server, to be emptied."""
    url = postgresql.new_database()
    open_store(url).close()
    engine = create_engine(url, poolclass=NullPool)  # a test may have stopped the server meanwhile
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each sort that has nothing in it."""
    if request.param == "sqlite":
        url = f"sqlite:///{shutil.copy(request.getfixturevalue('ready_file'), tmp_path)}"
    else:
        engine = request.getfixturevalue("ready_database")
        with engine.begin() as connection:
            connection.execute(text("TRUNCATE profiles CASCADE"))
        url = engine.url.render_as_string(hide_password=False)
    opened = open_store(url)
    assert opened.notices == ()
    yield opened
    opened.close()


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that everybody can enter, and we alone can write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def somebody_else() -> Generator[None]:
    """Without the rights of root, which go past every permission."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
