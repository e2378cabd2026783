"""A PostgreSQL server of our own, in a folder of its own, reached through a socket there."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from sqlalchemy import create_engine, text

_PLACES = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin")


def missing() -> str | None:
    """What to do about a missing PostgreSQL, or None where there is one."""
    return (
        None if _binaries() else "no PostgreSQL here: install it (Debian: postgresql), or run `make test`, which does"
    )


def _binaries() -> Path | None:
    if found := shutil.which("initdb"):
        return Path(found).parent
    folders = [folder for pattern in _PLACES for folder in Path("/").glob(pattern[1:]) if (folder / "initdb").exists()]
    return max(folders, default=None)


class Server:
    """A server that is running. `stop` and `start` it at will; `remove` it at last."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hw"))  # a socket's path must be short
        self._user = self._somebody() if os.geteuid() == 0 else None  # the server refuses to run as root
        if self._user:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-U", "headwise", "-A", "trust", "-E", "UTF8", "--no-sync", "-D", self._data)
        self._names = (f"headwise{number}" for number in itertools.count())
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    @staticmethod
    def _somebody() -> str:
        names = {entry.pw_name for entry in pwd.getpwall()}
        return next(name for name in ("postgres", "nobody") if name in names)

    def start(self) -> None:
        # nothing of this survives a power cut, and nothing has to
        settings = f"-k {self.folder} -c listen_addresses= -c fsync=off -c full_page_writes=off"
        self._run("pg_ctl", "start", "-w", "-D", self._data, "-o", settings, "-l", str(self.folder / "log"))

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-m", "fast", "-D", self._data)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://headwise@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = next(self._names)
        engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)

    def _run(self, command: str, *arguments: str) -> None:
        binaries = _binaries()
        assert binaries
        words = [str(binaries / command), *arguments]
        # the server keeps what it inherits, so a pipe would never end
        with (self.folder / "said").open("w") as said:
            run = subprocess.run(words, user=self._user, cwd="/", stdout=said, stderr=said, check=False)
        assert run.returncode == 0, (self.folder / "said").read_text()
