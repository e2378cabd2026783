"""A Streamlit server of one's own, for tests, pictures and measurements."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PATIENCE = 120.0  # seconds; a cold start on a busy machine takes a few


@dataclass(frozen=True)
class Server:
    """A running server: its address without a slash at the end, the file that it writes its log to, and where it keeps
    what people do (as HEADWISE_DB has it).
    """

    url: str
    log_file: Path
    store: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def serve(script: str | Path = "app.py", store: str | None = None) -> Generator[Server]:
    """`streamlit run script` on a free port, from the time it answers; stopped at the end.

    What is done there goes to `store`, else to a file that goes with the server: never to the user's own. Raises
    RuntimeError with the server's log when it does not come up.
    """
    with tempfile.TemporaryDirectory() as folder:
        port, log_file = _free_port(), Path(folder) / "server.log"
        store = store or f"sqlite:///{folder}/headwise.db"
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
        command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
        with (
            log_file.open("wb") as log,
            subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PYTHONUNBUFFERED": "1", "HEADWISE_DB": store},
            ) as process,
        ):
            server = Server(f"http://127.0.0.1:{port}", log_file, store, process)
            try:
                _wait_until_up(server)
                yield server
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_up(server: Server) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _is_up(server):
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not come up; its log:\n{server.log()}")
        time.sleep(0.02)


def _is_up(server: Server) -> bool:
    try:
        with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
