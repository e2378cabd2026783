"""The grader's side: starts a child, asks it, holds its time, ends it."""

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol, Self

import yaml

from core.errors import Explained, Lang
from core.judge.sandbox._child import Handler, Limits
from core.judge.sandbox._forked import ForkedProcess
from core.judge.sandbox._fresh import FreshProcess
from core.judge.sandbox.frames import Garbled, Inbox, Kind, Printed, TooLarge, frame
from core.judge.sandbox.wire import pack, unpack

_FRESH = "core.judge.sandbox"
_START = 60.0  # seconds: a fresh process imports torch


class Stopped(Explained, RuntimeError):
    """The child can answer no more: it took too long, too much, ended itself, or answered what is no answer."""

    def __init__(self, kind: Kind, limits: Limits, seconds: float) -> None:
        sizes = {"memory": limits.memory / (1 << 30), "reply": limits.reply / (1 << 20)}
        super().__init__(f"judge.sandbox-{kind}", seconds=seconds, **sizes)
        self.kind = kind


class Process(Protocol):
    """A child as its parent holds it."""

    def exchange(self, data: bytes, inbox: Inbox, deadline: float) -> bytes:
        """Sends, returns the reply. Raises TimeoutError, EOFError (it closed its end), Garbled, TooLarge."""

    def end(self, grace: float) -> Kind:
        """Kills it and all of its descendants; says how it ended when that was within `grace` seconds."""


class Session:
    """One child with one submission. Not for several threads."""

    def __init__(self, process: Process, folder: Path, printed: Printed, limits: Limits) -> None:
        self._process, self._folder, self._printed, self._limits = process, folder, printed, limits
        self._number = 0
        self._stopped: Stopped | None = None
        self._seconds = _START
        try:
            self.layers: dict[str, bool] = self._exchange(b"")
        except BaseException:
            self.close()
            raise
        self._deadline = time.monotonic() + limits.seconds

    def ask(self, request: dict[str, Any], *, seconds: float) -> Any:
        """The reply, made of what `wire` knows and of nothing that was promised: the submission may have made it.

        Raises Stopped; the session is over then.
        """
        self._seconds = min(seconds, max(0.0, self._deadline - time.monotonic()))
        return self._exchange(pack(request))

    @property
    def printed(self) -> str:
        """What went to stdout and stderr so far, cut where `Limits.printed` says."""
        return str(self._printed)

    def close(self) -> None:
        """Ends the child and all of its descendants, removes its folder. May be called again."""
        if self._stopped is None:
            self._stop("exited")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _exchange(self, body: bytes) -> Any:
        if self._stopped is not None:
            raise self._stopped
        self._number += 1
        deadline = time.monotonic() + self._seconds
        try:
            inbox = Inbox(self._number, self._limits.reply)
            return unpack(self._process.exchange(frame(self._number, body), inbox, deadline))
        except TimeoutError:
            raise self._stop("timeout") from None
        except TooLarge:
            raise self._stop("output") from None
        except (Garbled, ValueError):
            raise self._stop("garbled") from None
        except EOFError:
            raise self._stop(None) from None

    def _stop(self, kind: Kind | None) -> Stopped:
        """Without a kind the way it ended tells, for which it has a moment."""
        ended = self._process.end(grace=0.5 if kind is None else 0.0)
        self._stopped = Stopped(kind or ended, self._limits, self._seconds)
        _remove(self._folder)
        return self._stopped


def start(*, limits: Limits | None = None, executor: type[Handler] | None = None, fresh: str | None = None) -> Session:
    """A child that waits for requests, locked down; each goes to `executor().handle`, by default the judge's Executor.

    The calling process must have one thread. With `fresh` it is not forked: another Python runs that module, which
    calls `run_fresh` with its executor. So it is where there is no fork.
    """
    if executor is None:
        from core.judge._executor import Executor as executor  # noqa: N813

    limits = limits or Limits()
    folder = Path(tempfile.mkdtemp(prefix="headwise-"))
    printed = Printed(limits.printed)
    try:
        if fresh or not hasattr(os, "fork"):
            process: Process = FreshProcess(fresh or _FRESH, folder, limits, printed)
        else:
            process = ForkedProcess(executor, folder, limits, printed)
    except BaseException:
        _remove(folder)
        raise
    return Session(process, folder, printed, limits)


def layers() -> dict[str, bool]:
    """What protects against a submission here, found by locking a child down: name of the layer, whether in force."""

    class Nothing:
        def handle(self, request: dict[str, Any]) -> dict[str, Any]:
            return request

    with start(executor=Nothing) as session:
        return session.layers


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.chmod(0o700)  # it may have locked its folder, where nothing forbade that
    shutil.rmtree(folder, ignore_errors=True)


def describe(lang: Lang = "en") -> str:
    """The layers in words, one a line: + in force, - missing here."""
    words = yaml.safe_load((Path(__file__).parent / "layers.yaml").read_text(encoding="utf-8"))
    found = layers()
    return "\n".join(f"{'+' if found.get(name) else '-'} {text[lang]}" for name, text in words.items())
