"""Hostile submissions in the real sandbox: each gets a clear verdict, leaves nothing, the next is served as ever."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from core.judge.client import Judge
from core.judge.sandbox import layers
from tests.core.judge.sandbox.attacks import ATTACKS, Attack

ROOT = Path(__file__).parents[4]
RIGHT = "def f(x):\n    print('hello')\n    return 2 * x\n"


class Place(NamedTuple):
    judge: Judge
    folder: Path
    secret: Path
    mark: str
    layers: dict[str, bool]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A judge whose temporary files are in a folder of their own, and whose processes can be told from all others."""
    seconds = f"{60 + os.getpid() / 1e9:.9f}"
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        (Path(folder) / "secret").write_text("of the person", encoding="utf-8")
        (Path(folder) / "tmp").mkdir()
        patch.setattr(tempfile, "tempdir", f"{folder}/tmp")
        with Judge("tests.core.judge.sandbox.helpers", float(seconds)) as judge:
            yield Place(judge, Path(folder) / "tmp", Path(folder) / "secret", str(float(seconds)), layers())


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_is_contained(place: Place, attack: Attack) -> None:
    """It ends as it should; no process and no file of it is left; the next is served by the same worker."""
    for layer in attack.needs:
        if not place.layers[layer]:
            pytest.skip(f"{layer} is not in force here")
    source = attack.source
    for name, value in {"root": ROOT, "home": Path.home(), "secret": place.secret}.items():
        source = source.replace(f"{{{name}}}", str(value))
    verdict = place.judge.judge("double", source, seconds=0.5 if attack.ends == "stopped:timeout" else 15.0)
    ended = f"stopped:{verdict['stopped']}" if verdict["stopped"] else verdict["error"]
    assert (ended or ("passed" if verdict["passed"] else "wrong")) in attack.ends.split(" or "), verdict["text"]
    assert len(verdict["printed"]) < 70_000
    assert place.secret.read_text(encoding="utf-8") == "of the person"
    after = place.judge.judge("double", RIGHT)
    assert after["passed"]
    assert after["printed"] == "hello\n"
    assert after["worker"] == verdict["worker"]
    assert list(place.folder.glob("headwise-*/headwise-*")) == []  # the worker's folder, the grader's
    assert left_of(place.mark) == {after["worker"]}


def left_of(mark: str) -> set[int]:
    """The processes of the judge, once those that were killed have gone."""
    for _ in range(500):
        found = set(processes(mark))
        if len(found) <= 1:
            break
        time.sleep(0.01)
    return found


def processes(mark: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)
        except OSError:  # it has ended
            continue
