"""What the markers `browser` and `models` mean: without what it needs, a test is skipped, or fails where CI is set."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("headwise", settings(), deadline=None)
settings.load_profile("headwise")


def missing_browser() -> str | None:
    """What to do about a missing Chromium, or None when there is one."""
    from tools import browser

    return None if browser.find() else "no Chromium here: install one, or run `make test`, which does"


def missing_models() -> str | None:
    """What to do about missing model files, or None when they are all there."""
    from core import lm

    missing = [model_id for model_id in lm.MODELS if not lm.is_installed(model_id)]
    return f"run `python -m core.lm fetch`: there is no {', '.join(missing)}" if missing else None


NEEDS: dict[str, Callable[[], str | None]] = {"browser": cache(missing_browser), "models": cache(missing_models)}


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers and submissions of a test go into a file of its own, and never into the user's."""
    monkeypatch.setenv("HEADWISE_DB", f"sqlite:///{tmp_path / 'headwise.db'}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, missing in NEEDS.items():
        if item.get_closest_marker(marker):
            refuse(missing(), os.environ)


def refuse(missing: str | None, environment: Mapping[str, str]) -> None:
    """Skip a test that lacks what it needs; with CI set, where everything has to run, fail it."""
    if missing is None:
        return
    if environment.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)
