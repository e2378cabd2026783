"""Which Chromium drives the app in tests and measurements. `python -m tools.browser` prints its path, or exits 1."""

import os
import shutil
import sys
from functools import cache
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = (
    "--no-sandbox",  # root in a container may not sandbox
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_COMMANDS = ("chromium", "google-chrome", "google-chrome-stable")
_APPLICATIONS = ("Google Chrome", "Chromium")  # on macOS


@cache
def find() -> str | None:
    """The path of a Chromium: $HEADWISE_BROWSER, else one that is installed, else playwright's own, else None."""
    installed = [shutil.which(command) for command in (os.environ.get("HEADWISE_BROWSER", ""), *_COMMANDS)]
    installed += [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in _APPLICATIONS]
    for path in installed:
        if path and Path(path).exists() and not _is_snap(path):
            return path
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _is_snap(path: str) -> bool:
    """A snap sees another /tmp than we do, so it cannot be driven."""
    return "snap" in Path(path).resolve().parts


if __name__ == "__main__":
    path = find()
    print(path or "no Chromium found")
    sys.exit(path is None)
