"""From the text that was asked to be run to its verdict, which is kept with the session, and to marks in the editor."""

from dataclasses import dataclass, field
from typing import Any

from core.judge.problems import Problem
from pages._ui import cache, state
from pages._ui.coding.choosing import Room
from pages._ui.editor import Mark
from pages._ui.i18n import lang

Verdict = dict[str, Any]
"""What `core.judge` describes."""


@dataclass(frozen=True)
class Judged:
    """A text and its verdict."""

    source: str = ""
    verdict: Verdict = field(default_factory=dict)


def known(room: Room, source: str) -> Judged | None:
    """The verdict on this text, if it is the last that was judged here."""
    last = state.get(f"{room.key}_judged", Judged())
    return last if last.verdict and last.source == source else None


def judge(room: Room, source: str) -> Judged:
    """Have the text judged, which takes as long as the judge does, and keep the verdict."""
    judged = Judged(source, verdict(room.problem, source))
    state.put(f"{room.key}_judged", judged)
    return judged


def verdict(problem: Problem, source: str) -> Verdict:
    return cache.judge().judge(problem.id, source)


def forget(room: Room) -> None:
    """Let the text be judged once more."""
    state.forget(f"{room.key}_judged")


def named(room: Room) -> bool:
    """Whether mistakes may be named and placed: in a task to repair only once one has asked for it."""
    return room.task is None or state.get(f"{room.key}_told", False)


def tell(room: Room) -> None:
    """Name the mistakes of a task from now on. A callback."""
    state.put(f"{room.key}_told", True)


def marks(room: Room, judged: Judged | None) -> list[Mark]:
    """What the editor marks."""
    if judged is None:
        return []
    found = []
    error = judged.verdict["error"]
    if error and error["line"]:
        found.append(Mark(error["line"], 0, error["line"], 10_000, "error", error["message"][lang()]))
    if named(room):
        found += [
            Mark(
                finding["line"],
                finding["col"],
                finding["end_line"],
                finding["end_col"],
                finding["confidence"],
                finding["message"][lang()],
            )
            for finding in judged.verdict["findings"]
            if finding["line"]
        ]
    return found
