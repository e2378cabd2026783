"""The child: gives up what a submission must not have, then answers requests until its pipe ends."""

import contextlib
import faulthandler
import io
import json
import os
import signal
import sys
import sysconfig
import tempfile
import types
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, NoReturn, Protocol

from core.judge.sandbox import _landlock, _seccomp, linux
from core.judge.sandbox.frames import Kind, frame, read_frame, write_all
from core.judge.sandbox.wire import pack, unpack

_RAISED, _OUT_OF_MEMORY, _UNPACKABLE = 113, 114, 115  # exit codes

LINUX = sys.platform == "linux"

_CPU = ("/proc/cpuinfo", "/sys/devices/system/cpu")  # torch chooses its kernels by these
_streams: list[object] = []  # the caller's, held: freed, they would write what they still hold, and close the pipes


@dataclass(frozen=True)
class Limits:
    """What one session may use."""

    seconds: float = 10.0  # from its start to its end, and of processor time
    memory: int = 3 << 29  # bytes beyond what Python and torch take: 1.5 GiB
    files: int = 16 << 20  # bytes in the private folder, and of one file where that cannot be limited
    reply: int = 32 << 20  # bytes of one reply
    printed: int = 64 << 10  # bytes kept of what is printed


def exit_kind(code: int) -> Kind:
    """What a child's exit code says; a submission can choose it, and so which of these words it hears."""
    return "memory" if code == _OUT_OF_MEMORY else "garbled" if code == _UNPACKABLE else "exited"


class Handler(Protocol):
    """Answers requests, both ways what `wire` can carry; its errors end the child."""

    def handle(self, request: dict[str, Any]) -> dict[str, Any]: ...


def run_forked(
    make: type[Handler], fds: tuple[int, int, int], folder: str, limits: Limits, *, namespaced: bool
) -> NoReturn:
    """In a process just forked. `fds` are the pipes for requests, replies and what is printed."""
    try:
        os.setsid()
        requests, replies = _keep_only(*fds)
        _forget_python(folder)
        _serve(make, requests, replies, folder, limits, namespaced=namespaced)
    finally:  # whatever happens, the copy of the caller's stack is never returned to
        os._exit(_RAISED)


def run_fresh(make: type[Handler]) -> NoReturn:
    """In a process that `_fresh` has just started, whose stdin, stdout and stderr are the pipes."""
    folder, limits = sys.argv[1], Limits(**json.loads(sys.argv[2]))
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    _forget_python(folder)
    _serve(make, requests, replies, folder, limits, namespaced=False)
    os._exit(_RAISED)


def _serve(make: type[Handler], requests: int, replies: int, folder: str, limits: Limits, *, namespaced: bool) -> None:
    import torch

    with contextlib.suppress(EOFError, BrokenPipeError):
        number, _ = read_frame(requests)  # not before the parent is this process's parent for good
        torch.set_num_threads(1)  # the threads of the caller were not forked
        handler = make()
        layers = _lock(folder, limits, namespaced=namespaced)
        _hide_core()
        write_all(replies, frame(number, pack(layers)))
        while True:
            number, request = read_frame(requests)
            failure = _RAISED
            try:
                reply = handler.handle(unpack(request))
                failure = _UNPACKABLE
                body = pack(reply)
            except MemoryError:
                os._exit(_OUT_OF_MEMORY)
            except BaseException:  # noqa: BLE001 - a submission may raise anything
                os._exit(failure)
            write_all(replies, frame(number, body))


def _keep_only(requests: int, replies: int, printed: int) -> tuple[int, int]:
    """Closes all files but the pipes: the caller's, its sockets, other children's pipes. Requests and replies."""
    import fcntl

    kept = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in (requests, replies, printed)]
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for fd, place in zip([kept[2], kept[2], *kept[:2]], (1, 2, 3, 4), strict=True):
        os.dup2(fd, place, inheritable=False)
    os.closerange(5, os.sysconf("SC_OPEN_MAX"))
    return 3, 4


def _forget_python(folder: str) -> None:
    """Puts back what the caller may have set in the interpreter."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({"HOME": folder, "TMPDIR": folder})
    tempfile.tempdir = folder
    faulthandler.disable()
    sys.settrace(None)
    sys.setprofile(None)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _streams.extend((sys.stdin, sys.stdout, sys.stderr))
    sys.argv = [""]
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.__stdout__ = _unbuffered(1)
    sys.stderr = sys.__stderr__ = _unbuffered(2)


def _unbuffered(fd: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(fd, "wb"), "utf-8", "backslashreplace", write_through=True)


def _lock(folder: str, limits: Limits, *, namespaced: bool) -> dict[str, bool]:
    """Gives up everything that can be given up here. Says what is in force."""
    layers = {"namespaces": namespaced, "memory-files": namespaced and linux.mount_memory(folder, limits.files)}
    os.chdir(folder)  # into what was mounted there
    layers["limits"] = _limit(limits)
    if not LINUX:
        return layers
    libc = linux.c_library()
    layers["capabilities"] = linux.drop_capabilities()
    layers["privileges"] = linux.refuse_new_privileges()
    layers["dies-with-parent"] = linux.die_with_parent()
    layers |= _landlock.restrict(libc, _readable(), folder)
    layers["seccomp"] = _seccomp.restrict(libc)
    return layers


def _limit(limits: Limits) -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    seconds = int(limits.seconds) + 1
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": seconds,
        "RLIMIT_FSIZE": limits.files,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_NPROC": 64,  # of the user: it bounds threads; processes are refused by seccomp
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_AS": linux.mapped_bytes() + limits.memory,
    }
    done = True
    for name, most in wanted.items():
        try:
            which = getattr(resource, name)
            hard = resource.getrlimit(which)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (most, most))
        except (ValueError, OSError, AttributeError):
            done = False
    return done


def _readable() -> list[str]:
    """What Python and torch read while they run: the libraries, not the folders that hold them."""
    paths = sysconfig.get_paths()
    python = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    python |= {f"{prefix}/lib" for prefix in (sys.prefix, sys.base_prefix)}
    python |= {entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")}  # a user's own
    return [*sorted(python), "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom", *_CPU]


class _NoCore(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname.partition(".")[0] == "core":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def _hide_core() -> None:
    """Takes the project's modules, with the references in them, out of reach of an import."""
    allowed = (*_readable(), sys.prefix, sys.base_prefix)
    for name in [name for name in sys.modules if name.partition(".")[0] == "core"]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.path[:] = [entry for entry in sys.path if entry.startswith(allowed)]
    sys.meta_path.insert(0, _NoCore())
