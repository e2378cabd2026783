"""A session: what a child may use, what is kept of what it prints, how it ends, and what is left then."""

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from core.judge import sandbox
from core.judge.sandbox import Limits, Session, Stopped, describe, layers, linux, start
from core.judge.sandbox._landlock import restrict as landlock
from core.judge.sandbox._seccomp import _MACHINES, _filter, _refused
from tests.core.judge.sandbox.helpers import Careless, Executor

FRESH = "tests.core.judge.sandbox.fresh_child"
FOLDER = Path(sandbox.__file__).parent
X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sessions put their folders; nothing may be left there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=[None, FRESH], ids=["forked", "fresh"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with start(executor=Executor, fresh=request.param, limits=Limits(printed=100)) as session:
        yield session


def pid_of(session: Any) -> int:
    return session._process._pid


def open_files() -> set[int]:
    found = set()
    for fd in range(256):
        with contextlib.suppress(OSError):
            os.fstat(fd)
            found.add(fd)
    return found


def stopped(code: str, limits: Limits | None = None, seconds: float = 10.0) -> str:
    with start(executor=Careless, limits=limits) as session, pytest.raises(Stopped) as caught:
        session.ask({"source": code}, seconds=seconds)
    return caught.value.kind


def test_several_requests_one_child(session: Session) -> None:
    source = "import os\ndef f(x):\n    print(os.getpid())\n    return x + 1"
    for _ in range(3):
        assert torch.equal(session.ask({"source": source, "x": X}, seconds=10)["out"], X + 1)
    session.close()
    assert len(set(session.printed.split())) == 1
    session.close()  # nothing more


def test_an_error_is_an_answer_and_the_child_goes_on(session: Session) -> None:
    assert session.ask({"source": "def f(x): return y", "x": X}, seconds=10)["error"] == "NameError"
    assert torch.equal(session.ask({"source": "def f(x): return x", "x": X}, seconds=10)["out"], X)


def test_what_is_printed_is_cut(session: Session) -> None:
    source = "def f(x):\n    print('a' * 60)\n    print('b' * 60_000)\n    return x"
    assert "out" in session.ask({"source": source, "x": X}, seconds=10)
    session.close()
    assert session.printed.startswith("a" * 60 + "\n" + "b" * 39 + "\n…")
    assert "59962" in session.printed


def test_an_endless_loop_is_ended_and_the_session_with_it(session: Session) -> None:
    for _ in range(2):  # the second time without being asked
        with pytest.raises(Stopped) as caught:
            session.ask({"source": "while True: pass", "x": X}, seconds=0.3)
        assert caught.value.kind == "timeout"
    assert "0.3 s" in str(caught.value)
    assert "0.3 秒" in caught.value.parts("zh").given


def test_an_end_without_an_answer(session: Session) -> None:
    with pytest.raises(Stopped) as caught:
        session.ask({"source": "import os; os._exit(0)", "x": X}, seconds=10)
    assert caught.value.kind == "exited"


def test_a_crash(session: Session) -> None:
    with pytest.raises(Stopped) as caught:
        session.ask({"source": "import ctypes; ctypes.string_at(0)", "x": X}, seconds=10)
    assert caught.value.kind == "crashed"


def test_a_fresh_child_is_locked_too() -> None:
    with start(executor=Executor, fresh=FRESH) as session:
        mine = set(layers().items()) - {("namespaces", True), ("memory-files", True)}
        assert {name for name, there in mine if there} <= {name for name, there in session.layers.items() if there}
        for code, error in {
            f"open({__file__!r})": "PermissionError",
            "import os; os.fork()": "PermissionError",
            "import core.errors": "ModuleNotFoundError",
            "bytes(10**11)": "MemoryError",
        }.items():
            assert session.ask({"source": code, "x": X}, seconds=10)["error"] == error


def test_all_of_a_session_has_a_limit_of_time() -> None:
    with start(executor=Careless, limits=Limits(seconds=0.4)) as session:
        request = {"source": "import time; time.sleep(0.05)"}
        with pytest.raises(Stopped, match="still running"):
            all(session.ask(request, seconds=10) == {} for _ in range(100))


def test_memory_and_endings_that_nobody_catches() -> None:
    assert stopped("bytes(10**11)") == "memory"
    assert stopped("raise MemoryError") == "memory"
    assert stopped("1 / 0") == "exited"
    assert stopped("raise SystemExit(0)") == "exited"
    assert stopped("import os; os.abort()") == "crashed"


def test_small_limits_hold_and_others_do_not() -> None:
    code = "held = bytearray(300 << 20)"
    assert stopped(code, Limits(memory=200 << 20)) == "memory"
    with start(executor=Careless, limits=Limits(memory=400 << 20)) as session:
        assert session.ask({"source": code}, seconds=10) == {}


def test_time_of_the_processor_is_limited_without_the_parent() -> None:
    code = "import threading\nfor _ in range(4): threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()"
    with start(executor=Careless, limits=Limits(seconds=1.0)) as session:
        session.ask({"source": code}, seconds=5)
        pid = pid_of(session)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # nobody asks it, nobody kills it
        with pytest.raises(Stopped) as caught:
            session.ask({"source": "pass"}, seconds=5)
        assert caught.value.kind == "timeout"


def test_a_request_larger_than_a_pipe_goes_through() -> None:
    big = torch.arange(500_000.0)
    with start(executor=Executor) as session:
        assert torch.equal(session.ask({"source": "def f(x): return x", "x": big}, seconds=10)["out"], big)


def test_a_reply_larger_than_the_limit_does_not() -> None:
    with start(executor=Executor, limits=Limits(reply=100_000)) as session:
        assert "out" in session.ask({"source": "def f(x): return x.new_zeros(1000)", "x": X}, seconds=10)
        with pytest.raises(Stopped) as caught:
            session.ask({"source": "def f(x): return x.new_zeros(100_000)", "x": X}, seconds=10)
    assert caught.value.kind == "output"


def test_two_sessions_at_once_know_nothing_of_each_other() -> None:
    read, write = "def f(x): return open('note').read()", "def f(x): return str(open('note', 'w').write('mine'))"
    with start(executor=Executor) as one, start(executor=Executor) as two:
        assert one.ask({"source": write, "x": X}, seconds=10)["out"] == "4"
        assert one.ask({"source": read, "x": X}, seconds=10)["out"] == "mine"
        assert two.ask({"source": read, "x": X}, seconds=10)["error"] == "FileNotFoundError"


def test_the_caller_keeps_its_files_and_streams(capfd: pytest.CaptureFixture[str]) -> None:
    before = open_files()
    with start(executor=Executor) as session:
        session.ask({"source": "def f(x): print('theirs')", "x": X}, seconds=10)
    print("ours")
    assert capfd.readouterr().out == "ours\n"
    assert open_files() == before


def test_an_executor_that_cannot_be_made_is_an_end() -> None:
    class Broken(Executor):
        def __init__(self) -> None:
            raise ValueError

    with pytest.raises(Stopped) as caught:
        start(executor=Broken)
    assert caught.value.kind == "exited"


def test_without_namespaces_the_verdict_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "enter_namespaces", lambda: False)
    with start(executor=Executor) as session:
        assert not session.layers["namespaces"]
        assert not session.layers["memory-files"]
        assert torch.equal(session.ask({"source": "def f(x): return x", "x": X}, seconds=10)["out"], X)
        code = "import os\nfor n in range(9): open(str(n), 'w').close()\nos.kill(os.getppid(), 9)"
        assert session.ask({"source": code, "x": X}, seconds=10)["error"] == "PermissionError"


def test_namespaces_that_are_half_forbidden_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def half() -> bool:
        raise PermissionError

    monkeypatch.setattr(linux, "enter_namespaces", half)
    with start(executor=Executor) as session:
        assert not session.layers["namespaces"]


@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
def test_a_kernel_without_a_layer(monkeypatch: pytest.MonkeyPatch, layer: str) -> None:
    """The verdict goes on, and what is missing is said."""
    missing = {"landlock-files": False} if layer == "landlock" else False
    monkeypatch.setattr(f"core.judge.sandbox._{layer}.restrict", lambda *_: missing)
    with start(executor=Executor) as session:
        assert not session.layers[{"landlock": "landlock-files"}.get(layer, layer)]
        assert torch.equal(session.ask({"source": "def f(x): return x", "x": X}, seconds=10)["out"], X)


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
@pytest.mark.parametrize(("abi", "size"), [(1, 8), (3, 8), (4, 16), (5, 16), (6, 24), (9, 24)])
def test_an_older_landlock_is_told_only_what_it_knows(abi: int, size: int) -> None:
    class Kernel:
        asked: tuple[int, ...] = ()

        def syscall(self, number: int, rules: Any, size: int, flags: int) -> int:
            if flags:
                return abi
            fields = rules._obj
            self.asked = (size, fields.fs.bit_length(), fields.net, fields.scoped)
            return -1

    kernel: Any = Kernel()
    assert not any(landlock(kernel, [], "/").values())
    assert kernel.asked == (size, {1: 13, 3: 15, 4: 15}.get(abi, 16), 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)


def refused(machine: str, number: int, argument: int = 0, pid: int = 7) -> int:
    """What the filter returns for a call: the error number, 0 if it is allowed. An interpreter of BPF."""
    memory = {0: number, 4: _MACHINES[machine][1], 16: argument & 0xFFFFFFFF}
    program, at, value = _filter(*_MACHINES[machine], pid), 0, 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        if code == 0x06:
            return 0 if k == 0x7FFF0000 else k & 0xFFFF
        if code == 0x20:
            value = memory[k]
        else:
            at += yes if {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code] else no


@pytest.mark.parametrize(
    ("machine", "read", "socket", "clone", "clone3", "kill", "prctl"),
    [("x86_64", 0, 41, 56, 435, 62, 157), ("aarch64", 63, 198, 220, 435, 129, 167)],
)
def test_the_filter(machine: str, read: int, socket: int, clone: int, clone3: int, kill: int, prctl: int) -> None:
    """On both machines, whichever runs this."""
    assert refused(machine, read) == 0
    assert refused(machine, socket) == 1
    assert refused(machine, clone, argument=0x3D0F00) == 0  # as the C library makes threads
    assert refused(machine, clone, argument=0x1200011) == 1  # as it forks
    assert refused(machine, clone3) == 38
    assert refused(machine, kill, argument=7) == 0
    assert refused(machine, kill, argument=8) == 1
    assert refused(machine, kill, argument=-1) == 1
    assert refused(machine, prctl, argument=15) == 0
    assert refused(machine, prctl, argument=1) == 1
    assert refused(machine, 451) == 0
    assert refused(machine, 452) == 38
    assert refused(machine, 0x40000000 + read) == 38  # the x32 numbers of the same calls
    for number in _refused(_MACHINES[machine][0]):
        assert refused(machine, number) == 1


def test_a_machine_that_the_filter_was_not_made_for_is_refused_everything() -> None:
    program = _filter(*_MACHINES["x86_64"], 7)
    assert program[:3] == [(0x20, 0, 0, 4), (0x15, 1, 0, 0xC000003E), (0x06, 0, 0, 0x00050001)]


def test_the_layers_are_described_in_both_languages() -> None:
    words = yaml.safe_load((FOLDER / "layers.yaml").read_text(encoding="utf-8"))
    found = layers()
    assert list(found) == list(words)
    for lang in ("en", "zh"):
        lines = describe(lang).splitlines()
        assert [line[0] == "+" for line in lines] == list(found.values())
        assert [line[2:] for line in lines] == [text[lang] for text in words.values()]


def test_a_missing_layer_is_shown_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "enter_namespaces", lambda: False)
    assert describe().startswith("- ")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere its processor time ends it, or the end of its pipe")
def test_a_child_whose_parent_is_killed_ends(temporary: Path) -> None:
    told, tell = os.pipe()
    parent = os.fork()
    if parent == 0:
        session = start(executor=Executor)
        os.write(tell, str(pid_of(session)).encode())
        session.ask({"source": "import time; time.sleep(3600)", "x": X}, seconds=3600)
        os._exit(0)
    child = int(os.read(told, 100))
    assert Path(f"/proc/{child}").exists()
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    for _ in range(500):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists()
    next(temporary.iterdir()).rmdir()  # which nobody was there to remove; what was in it went with the child
    os.close(told)
    os.close(tell)
