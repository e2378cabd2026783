"""The steps of the person's own run."""

import html
from typing import Any

import streamlit as st

from pages._ui.coding.choosing import Room
from pages._ui.coding.judging import Judged, named
from pages._ui.i18n import t
from pages._ui.text import chip, table

WALK = "coding_walk"
MOST = 80  # rows; a loop over tokens makes thousands
LONGEST = 44  # characters of a step's source


def own_run(room: Room, judged: Judged) -> None:
    """The first call of the submission, step by step; nothing where it did not come so far.

    A list of the verdict's steps, or where one wants it the walk of them beside the reference, which shows where they
    part: not in a task to repair before its mistakes may be told.
    """
    steps = judged.verdict["trace"]
    if not steps:
        return
    if named(room) and st.toggle(t("coding.walk"), key=WALK, persist_state="session"):
        from pages._ui.walk import own  # which brings torch with it

        own.below_verdict(room.problem.id, judged.source)
        return
    with st.container(border=True):
        columns = ("line", "op", "shape", "kind", "stride")
        rows = table([t(f"walk.column.{column}") for column in columns], [_row(step) for step in steps[:MOST]])
        st.html(f'<strong>{t("coding.steps")}</strong><div class="hw-steps">{rows}</div>')
        if len(steps) > MOST:
            st.caption(t("coding.steps.more", count=len(steps) - MOST))


def _row(step: dict[str, Any]) -> tuple[str, ...]:
    """Everything in a step comes from the process that ran the submission, so it is escaped."""
    text = " ".join(str(step["text"] or step["op"]).split())
    if len(text) > LONGEST:  # of a chain of calls, the last one is meant
        text = " ".join(f"{step['op']}({step['args']})".split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    kind = "error" if step["error"] else step["kind"] if step["kind"] in ("view", "copy") else "compute"
    stride = "" if step["stride"] is None else f"({', '.join(map(str, step['stride']))})"
    return (
        html.escape(str(step["line"] or "")),
        f'<span class="hw-mono">{html.escape(text)}</span>',
        "" if step["shape"] is None else chip([("", size) for size in step["shape"]]),
        f'<span class="hw-tag hw-{kind}">{t(f"walk.kind.{kind}")}</span>',
        f'<span class="hw-mono">{html.escape(stride)}</span>',
    )
