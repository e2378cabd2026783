"""What goes from the coding room into the store: drafts as they are typed, submissions with their verdicts, and the
mistakes found in them, whose questions come back at once.
"""

import time
from datetime import UTC, datetime

from core.errors import Unavailable
from core.quiz import about, load_bank
from pages._ui import cache, state
from pages._ui.coding.choosing import Room
from pages._ui.coding.judging import Judged

_LEFT_OUT = ("trace", "printed")  # of a verdict: large, and of no use later


def restore(room: Room) -> None:
    """Before the editor is drawn: the text that was typed in another session, where this one has none."""
    state.put(f"{room.key}_since", state.get(f"{room.key}_since", time.monotonic()))
    if state.get(f"{room.key}_text", None) is not None:
        return
    try:
        text = cache.store().draft(room.key)
    except Unavailable:
        return
    if text:
        state.put(f"{room.key}_text", text)


def draft(room: Room, text: str) -> None:
    """Keep what was typed, if it is anything new."""
    if text == state.get(f"{room.key}_kept", room.starter):
        return
    state.put(f"{room.key}_kept", text)
    try:
        cache.store().save_draft(room.key, text)
    except Unavailable as error:
        state.put(state.CODING_UNSAVED, error)


def submission(room: Room, judged: Judged) -> None:
    """Keep a submission that was judged, and make the questions about its mistakes due."""
    verdict = judged.verdict
    if (verdict["error"] or {}).get("kind") == "judge-failed":  # says nothing of the submission
        return
    now = datetime.now(UTC)
    found = tuple(dict.fromkeys(finding["pitfall"] for finding in verdict["findings"]))
    try:
        cache.store().submit(
            room.problem.id,
            judged.source,
            {name: value for name, value in verdict.items() if name not in _LEFT_OUT},
            passed=verdict["passed"],
            pitfalls=found,
            at=now,
            mode="debug" if room.task else "write",
            seconds=_since(room),
        )
        if found and not room.task:  # the mistakes of a task are not the person's own
            cache.store().make_due(about(load_bank(), found), now)
        state.put(state.CODING_UNSAVED, None)
    except Unavailable as error:
        state.put(state.CODING_UNSAVED, error)


def _since(room: Room) -> float:
    """Seconds since the problem was opened or submitted before; the next ones count from now."""
    now = time.monotonic()
    before = state.get(f"{room.key}_since", now)
    state.put(f"{room.key}_since", now)
    return now - before
