"""The caller's side of the judge: a worker process is started at the first request, and anew whenever it died.

Needs no torch, and never forks: the caller may have threads (a Streamlit server has).
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, Self

from core.errors import LANGS, Explained

WORKER = "core.judge.worker"
SECONDS = 20.0  # for one verdict

FailedKind = Literal["judge-failed", "timeout"]

_ROOT = Path(__file__).parents[2]
# Nothing else of the environment: what a caller keeps there (tokens, keys) would be in the memory of every submission.
_INHERITED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Failed(Explained, RuntimeError):
    """No verdict came of the judge."""


def failed(problem: str, kind: FailedKind, seconds: float = SECONDS) -> dict[str, Any]:
    """The verdict on a submission that could not be judged, in the form of all verdicts."""
    error = Failed(f"judge.sandbox-{'grader-late' if kind == 'timeout' else 'grader-ended'}", seconds=seconds)
    message = {}
    for lang in LANGS:
        given, expected, action = error.parts(lang)
        message[lang] = f"{given}；{expected}。{action}" if lang == "zh" else f"{given}; {expected}. {action}"
    return {
        **{"problem": problem, "passed": False, "checks": [], "findings": []},
        **{"error": {"kind": kind, "line": None, "message": message}, "divergence": None},
        **{"trace": [], "seconds": 0.0, "printed": ""},
    }


class Judge:
    """Judges submissions, several at once; may be shared by threads.

    `worker` is the module that is run as the worker, `seconds` what one verdict may take.
    """

    def __init__(self, worker: str = WORKER, seconds: float = SECONDS) -> None:
        self._command = [sys.executable, "-m", worker, str(seconds)]
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def warm(self) -> None:
        """Starts the worker now, so that the first verdict does not wait for torch."""
        with self._lock:
            self._running()

    def judge(self, problem: str, source: str, **options: object) -> dict[str, Any]:
        """The verdict, made for JSON. `options` go to the grader. Waits for it; a judge that fails says so in it."""
        request = {"problem": problem, "source": source, "options": options}
        for _ in range(2):  # that a worker was killed may show only when it is asked
            with self._lock:
                answer = self._running().ask(request)
            with contextlib.suppress(EOFError):
                return answer.result()
        return failed(problem, "judge-failed")

    def _running(self) -> "_Worker":
        if self._worker is None or self._worker.ended:
            self._worker = _Worker(self._command)
        return self._worker

    def close(self) -> None:
        """Ends the worker and all that it runs. A further request starts another."""
        with self._lock:
            if self._worker is not None:
                self._worker.close()
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Worker:
    """One worker process. `ask` is for one thread at a time."""

    def __init__(self, command: list[str]) -> None:
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        self._folder = tempfile.mkdtemp(prefix="headwise-")
        self._process = subprocess.Popen(
            [*command, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            env=environment | _ONE_THREAD | {"CUDA_VISIBLE_DEVICES": ""},  # a forked process cannot use a GPU
            start_new_session=True,  # Ctrl+C is the caller's
        )
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._number = 0
        self.ended = False
        self._reader = threading.Thread(target=self._read, name="judge", daemon=True)
        self._reader.start()

    def ask(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        """Resolves to the verdict, or to EOFError if the worker ends first."""
        self._number += 1
        line = json.dumps({"id": self._number, **request}) + "\n"
        answer = self._waiting[self._number] = Future()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except (OSError, ValueError):  # it has ended; the thread that reads may know, and have closed the pipe
            self.ended = True
            if self._waiting.pop(self._number, None):
                answer.set_exception(EOFError())
        return answer

    def close(self) -> None:
        self.ended = True
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()  # which tells it to end
            self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            for line in replies:
                reply = json.loads(line)
                self._waiting.pop(reply["id"]).set_result(reply["verdict"])
        self.ended = True
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)  # where it could not do that itself
        while self._waiting:
            self._waiting.popitem()[1].set_exception(EOFError())
