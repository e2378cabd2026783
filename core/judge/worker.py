"""The judge's worker: imports torch once and forks a grader for each request, so that none can hurt the next.

    python -m core.judge.worker SECONDS FOLDER

Reads requests from stdin, one a line, ``{"id", "problem", "source", "options"}``; writes ``{"id", "verdict"}`` to
stdout. A grader that takes more than SECONDS is ended with all of its descendants. Ends when stdin does.
Temporary files are in FOLDER, which is removed at the end.
It runs no submission: a grader starts a further process for that, see `core.judge.sandbox`.
"""

import collections
import contextlib
import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch

from core.judge.client import FailedKind, failed
from core.judge.sandbox import linux
from core.judge.sandbox.frames import Garbled, Inbox, TooLarge, frame, write_all

AT_ONCE = 4
_LARGEST = 64 << 20  # bytes of a verdict

Grade = Callable[..., dict[str, Any]]
Prepare = Callable[[str], None]


def main(
    grade: Grade, seconds: float, folder: str, prepare: Prepare = lambda _: None, *, forks: bool = hasattr(os, "fork")
) -> None:
    """`prepare(problem)` is called once for each problem, before a grader is forked: what it builds, they have."""
    tempfile.tempdir = folder
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)  # what is printed by mistake is no reply
    torch.set_num_threads(1)
    _warm()
    gc.collect()
    gc.freeze()  # the collector of a fork would touch, and so copy, all of memory
    if forks:
        _Worker(grade, prepare, seconds, requests, replies).run()
    else:
        _serve_in_threads(grade, requests, replies)
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class _Grader:
    pid: int
    folder: Path
    request: dict[str, Any]
    inbox: Inbox
    deadline: float


class _Worker:
    def __init__(self, grade: Grade, prepare: Prepare, seconds: float, requests: int, replies: int) -> None:
        self._grade, self._prepare, self._seconds = grade, prepare, seconds
        self._requests, self._replies = requests, replies
        self._prepared: set[str] = set()
        self._waiting: collections.deque[dict[str, Any]] = collections.deque()
        self._running: dict[int, _Grader] = {}  # by the pipe on which the verdict comes
        self._line = bytearray()

    def run(self) -> None:
        if sys.platform == "linux":
            linux.adopt_orphans(yes=True)  # the children of a grader that was killed
        signal.signal(signal.SIGCHLD, self._reap)
        with contextlib.suppress(BrokenPipeError, EOFError):  # the caller has gone
            while True:
                self._wait()
                for fd in [fd for fd, grader in self._running.items() if time.monotonic() > grader.deadline]:
                    self._finish(fd, None, "timeout")
                while self._waiting and len(self._running) < AT_ONCE:
                    self._start(self._waiting.popleft())
        for fd in list(self._running):
            self._end(fd, kill=True)

    def _wait(self) -> None:
        poll = select.poll()
        for fd in (self._requests, *self._running):
            poll.register(fd, select.POLLIN)
        left = min((grader.deadline for grader in self._running.values()), default=None)
        for fd, _ in poll.poll(None if left is None else max(0, left - time.monotonic()) * 1000 + 1):
            if fd == self._requests:
                self._read_requests()
            else:
                self._read_verdict(fd)

    def _read_requests(self) -> None:
        got = os.read(self._requests, 1 << 20)
        if not got:
            raise EOFError
        *lines, self._line = (self._line + got).split(b"\n")
        self._waiting.extend(json.loads(line) for line in lines)

    def _read_verdict(self, fd: int) -> None:
        got = os.read(fd, 1 << 20)
        try:
            verdict = self._running[fd].inbox.feed(got)
        except (Garbled, TooLarge):
            got, verdict = b"", None
        if verdict is not None or not got:
            self._finish(fd, verdict, "judge-failed")

    def _start(self, request: dict[str, Any]) -> None:
        if request["problem"] not in self._prepared:
            self._prepared.add(request["problem"])
            with contextlib.suppress(Exception):  # the grader meets it, too, and says so
                self._prepare(request["problem"])
            gc.freeze()
        folder = Path(tempfile.mkdtemp(prefix="headwise-"))
        from_grader, to_worker = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._be_grader(request, folder, to_worker)
        os.close(to_worker)
        deadline = time.monotonic() + self._seconds
        self._running[from_grader] = _Grader(pid, folder, request, Inbox(request["id"], _LARGEST), deadline)

    def _be_grader(self, request: dict[str, Any], folder: Path, verdicts: int) -> NoReturn:
        worker = os.getppid()
        try:
            os.setsid()
            tempfile.tempdir = str(folder)  # for all that it makes, so that nothing stays when it is killed
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._requests)
            os.close(self._replies)
            if sys.platform == "linux":
                linux.die_with_parent()
                if os.getppid() != worker:
                    os._exit(1)
            verdict = self._grade(request["problem"], request["source"], **request["options"])
            write_all(verdicts, frame(request["id"], json.dumps(verdict).encode()))
        except BaseException:  # noqa: BLE001 - whatever it is, the worker says that there is no verdict
            traceback.print_exc()
        finally:
            os._exit(0)

    def _finish(self, fd: int, verdict: bytes | None, kind: FailedKind) -> None:
        request = self._running[fd].request
        self._end(fd, kill=kind == "timeout")
        if verdict is None:
            verdict = json.dumps(failed(request["problem"], kind, self._seconds)).encode()
        write_all(self._replies, b'{"id": %d, "verdict": %b}\n' % (request["id"], verdict))

    def _end(self, fd: int, *, kill: bool) -> None:
        """Kills the grader where it has not ended; its children die with it."""
        os.close(fd)
        grader = self._running.pop(fd)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):  # reaped already
            if kill:
                os.kill(grader.pid, signal.SIGKILL)
            os.waitpid(grader.pid, 0)
        shutil.rmtree(grader.folder, ignore_errors=True)

    def _reap(self, *_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _warm() -> None:
    """What torch does at the first use of something, done once here and not in every child: it looks at the processor;
    for tensors on the meta device it imports some 800 modules."""
    for device in ("cpu", "meta"):
        thing = torch.ones(1, 2, 2, device=device)
        torch.nn.functional.linear(thing @ thing, thing[0]).masked_fill(thing > 0, 1.0).softmax(-1)


def _serve_in_threads(grade: Grade, requests: int, replies: int) -> None:
    """Where there is no fork: `grade` has threads, and the sandbox fresh processes. Holds no time; the sandbox does."""
    lock = threading.Lock()

    def answer(request: dict[str, Any]) -> None:
        try:
            verdict = grade(request["problem"], request["source"], **request["options"])
        except Exception:  # noqa: BLE001 - whatever it is, the caller hears that there is no verdict
            traceback.print_exc()
            verdict = failed(request["problem"], "judge-failed")
        with lock:
            write_all(replies, json.dumps({"id": request["id"], "verdict": verdict}).encode() + b"\n")

    with ThreadPoolExecutor(AT_ONCE) as pool, open(requests, encoding="utf-8") as lines:
        for line in lines:
            pool.submit(answer, json.loads(line))


if __name__ == "__main__":
    from core.judge._grader import grade, prepare

    main(grade, float(sys.argv[1]), sys.argv[2], prepare)
