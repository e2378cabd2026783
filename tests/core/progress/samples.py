"""Answers to start from."""

from datetime import UTC, datetime, timedelta
from typing import Any

from core.progress import GivenAnswer, Store

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def given(card: str = "split-shape", at: datetime = NOW, **changes: Any) -> GivenAnswer:
    """A right answer that took 12 s."""
    fields: dict[str, Any] = {
        "question": card,
        "card": card,
        "given": "b",
        "right": True,
        "seconds": 12.0,
        "mode": "learn",
        "topic": "split",
        "pitfalls": ("split-view-direct",),
        "at": at,
    }
    return GivenAnswer(**fields | changes)


def fill(store: Store) -> None:
    """Something of everything."""
    first = store.answer(given(at=NOW - 3 * DAY))
    store.answer(given(at=NOW - 2 * DAY, right=False))
    store.answer(given("gen-strides", at=NOW - DAY, question="gen-strides-s7", seed=7, given=[1, 2.0, None, "头"]))
    store.regrade(first.answer_id, store.answers()[0].rating, at=NOW)
    store.make_due(["mask-fill", "split-shape"], NOW)
    store.submit("mha", "import torch\0\n# 注意力", {"passed": False}, False, ("scale-missing",), NOW, "write", 90.0)
    store.save_draft("mha", "class Attention: …", at=NOW)
    store.set_setting("pace", 2.0, at=NOW)
    store.set_setting("theme", {"dark": [True, None, 1e-300, "\0"]}, at=NOW)
