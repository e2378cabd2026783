"""A child in a process of its own, where there is no fork: slow, since it imports Python and torch anew."""

import contextlib
import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from core.judge.sandbox._child import Limits, exit_kind
from core.judge.sandbox.frames import Inbox, Kind, Printed, seconds_left, write_all

_INHERITED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")


class FreshProcess:
    """Another Python. Threads read its pipes, since not every system can wait for several at once."""

    def __init__(self, module: str, folder: Path, limits: Limits, printed: Printed) -> None:
        command = [sys.executable, "-m", module, str(folder), json.dumps(dataclasses.asdict(limits))]
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment, start_new_session=True
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._requests = self._process.stdin
        self._printed = printed
        self._replies: queue.Queue[bytes] = queue.Queue(maxsize=64)
        self._ended = False
        self._threads: list[threading.Thread] = []
        self._run(self._read_replies, self._process.stdout)
        self._run(self._read_printed, self._process.stderr)

    def exchange(self, data: bytes, inbox: Inbox, deadline: float) -> bytes:
        self._run(self._write, data)
        while True:
            try:
                got = self._replies.get(timeout=seconds_left(deadline))
            except queue.Empty:
                raise TimeoutError from None
            if not got:
                raise EOFError
            if (body := inbox.feed(got)) is not None:
                return body

    def end(self, grace: float) -> Kind:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        code = self._process.poll()
        self._ended = True
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(1)
        self._requests.close()
        if code is None:
            return "garbled"
        return "crashed" if code < 0 else exit_kind(code)

    def _run(self, does: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=does, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it ended or closed its end; what it replies, or does not, says the rest
            write_all(self._requests.fileno(), data)

    def _read_replies(self, pipe: IO[bytes]) -> None:
        with pipe:
            got = b"more"
            while got and not self._ended:
                got = os.read(pipe.fileno(), 1 << 20)
                while not self._ended:
                    with contextlib.suppress(queue.Full):
                        self._replies.put(got, timeout=0.1)
                        break

    def _read_printed(self, pipe: IO[bytes]) -> None:
        with pipe:
            while got := os.read(pipe.fileno(), 1 << 16):
                self._printed.feed(got)
