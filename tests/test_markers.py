"""A test without its browser or model is never passed over where everything has to run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our conftest.py and one test for each marker, on a machine with neither browser nor models."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "browser.py").write_text("def find(): return None\n")
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "lm.py").write_text("MODELS = ['tiny']\ndef is_installed(model_id): return False\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\nmarkers =\n  browser: b\n  models: m\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.browser\ndef test_page(): pass\n"
        "@pytest.mark.models\ndef test_model(): pass\n"
        "def test_plain(): pass\n"
    )
    return tmp_path


@pytest.mark.parametrize(("ci", "closing"), [("", "1 passed, 2 skipped"), ("true", "1 passed, 2 errors")])
def test_what_is_missing_skips_here_and_fails_in_ci(project: Path, ci: str, closing: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider"],
        cwd=project,
        env=os.environ | {"CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert closing in run.stdout
    assert "no Chromium here" in run.stdout
    assert "there is no tiny" in run.stdout
