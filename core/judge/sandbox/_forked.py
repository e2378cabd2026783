"""A child made by fork: quick, since Python and torch are there already."""

import contextlib
import os
import select
import signal
import struct
import time
from pathlib import Path
from typing import NoReturn

from core.judge.sandbox import linux
from core.judge.sandbox._child import LINUX, Handler, Limits, exit_kind, run_forked
from core.judge.sandbox.frames import Inbox, Kind, Printed, seconds_left, write_all

_PID = struct.Struct("<q")


class ForkedProcess:
    """A fork of this process, which has one thread."""

    def __init__(self, make: type[Handler], folder: Path, limits: Limits, printed: Printed) -> None:
        self._printed, self._seconds = printed, limits.seconds
        try:
            self._pid, self._requests, self._replies, self._output = _fork(make, folder, limits, namespaces=LINUX)
        except EOFError:
            self._pid, self._requests, self._replies, self._output = _fork(make, folder, limits, namespaces=False)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._output, False)

    def exchange(self, data: bytes, inbox: Inbox, deadline: float) -> bytes:
        rest = memoryview(data)
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        poll.register(self._requests, select.POLLOUT)
        while True:
            for fd, _ in poll.poll(seconds_left(deadline) * 1000):
                if fd == self._output and not self._drain():
                    poll.unregister(fd)
                elif fd == self._requests:
                    rest = rest[self._write(rest) :]
                    if not rest:
                        poll.unregister(fd)
                elif fd == self._replies:
                    got = os.read(fd, 1 << 20)
                    if not got:
                        raise EOFError
                    if (body := inbox.feed(got)) is not None:
                        self._drain_all()
                        return body

    def end(self, grace: float) -> Kind:
        deadline = time.monotonic() + grace
        pid, status, used = os.wait4(self._pid, os.WNOHANG)
        while not pid and time.monotonic() < deadline:
            time.sleep(0.002)
            pid, status, used = os.wait4(self._pid, os.WNOHANG)
        with contextlib.suppress(OSError):  # nobody left, or not yet a group of its own
            os.killpg(self._pid, signal.SIGKILL)
        if not pid:
            os.kill(self._pid, signal.SIGKILL)
            os.wait4(self._pid, 0)
        self._drain_all()
        for fd in (self._requests, self._replies, self._output):
            os.close(fd)
        return self._cause(status, used.ru_utime + used.ru_stime) if pid else "garbled"

    def _cause(self, status: int, cpu: float) -> Kind:
        if os.WIFEXITED(status):
            return exit_kind(os.WEXITSTATUS(status))
        if os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU):  # the kernel's: too much time, or too much memory
            return "timeout" if cpu >= self._seconds else "memory"
        return "crashed"

    def _write(self, rest: memoryview) -> int:
        try:
            return os.write(self._requests, rest[: 1 << 16])
        except BlockingIOError:
            return 0
        except BrokenPipeError:  # it closed its end; what it replies, or does not, says the rest
            return len(rest)

    def _drain(self) -> int:
        try:
            got = os.read(self._output, 1 << 16)
        except BlockingIOError:
            return 0
        self._printed.feed(got)
        return len(got)

    def _drain_all(self) -> None:
        for _ in range(64):  # what a pipe holds; a flood never ends
            if not self._drain():
                return


def _fork(make: type[Handler], folder: Path, limits: Limits, *, namespaces: bool) -> tuple[int, int, int, int]:
    """The child's pid and the pipes for requests, replies and what is printed. Raises EOFError if there is no child."""
    requests, to_child = os.pipe()
    from_child, replies = os.pipe()
    from_output, output = os.pipe()
    if LINUX:
        linux.adopt_orphans(yes=True)
    first = os.fork()
    if first == 0:
        _first_child(make, (requests, replies, output), folder, limits, namespaces=namespaces)
    for fd in (requests, replies, output):
        os.close(fd)
    said = os.read(from_child, _PID.size)
    pid = _PID.unpack(said)[0] if said else 0
    if pid != first:
        os.waitpid(first, 0)  # it made the child and ended, which made the child ours
    if LINUX:
        linux.adopt_orphans(yes=False)
    if not pid:
        for fd in (to_child, from_child, from_output):
            os.close(fd)
        raise EOFError
    return pid, to_child, from_child, from_output


def _first_child(
    make: type[Handler], fds: tuple[int, int, int], folder: Path, limits: Limits, *, namespaces: bool
) -> NoReturn:
    """Becomes the child, or, in new namespaces, forks it, so that it is the first process there. Tells its pid."""
    try:
        namespaced = namespaces and linux.enter_namespaces()
        pid = os.fork() if namespaced else 0
        if pid == 0:
            if not namespaced:
                write_all(fds[1], _PID.pack(os.getpid()))
            run_forked(make, fds, str(folder), limits, namespaced=namespaced)
        write_all(fds[1], _PID.pack(pid))
    finally:
        os._exit(0)
