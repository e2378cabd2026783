from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from core.quiz import Bank, load_bank
from tests.core.quiz.samples import TOPICS


@pytest.fixture
def make_bank(tmp_path: Path) -> Callable[..., Bank]:
    """Write question files (a list of questions, or the text of a file) and load them as a bank."""

    def make(*questions: dict | str, files: dict[str, list | str] | None = None, ids: str | None = None) -> Bank:
        files = files or {"split.yaml": list(questions)}
        for name, content in files.items():
            text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
            (tmp_path / name).write_text(text, encoding="utf-8")
        listed = [q["id"] for content in files.values() if isinstance(content, list) for q in content if "id" in q]
        (tmp_path / "_ids.txt").write_text("\n".join(dict.fromkeys(map(str, listed))) if ids is None else ids)
        (tmp_path / "_topics.yaml").write_text(yaml.safe_dump(TOPICS, allow_unicode=True))
        return load_bank(tmp_path)

    return make
