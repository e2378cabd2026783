"""The list of all steps: each row says shape, kind and stride, and a click or Enter on it goes there."""

import html
from collections.abc import Sequence

import streamlit as st

from core.trace import Step, Trace
from pages._ui import state
from pages._ui.i18n import t
from pages._ui.text import table
from pages._ui.walk.parts import shape_chip, tag

Steps = Trace | Sequence[Step | None]

# The table is the project's own HTML, everything in it escaped where it was made. It stays as it is from step to step,
# so that the browser only moves the lit row.
_COMPONENT = st.components.v2.component(
    "headwise_step_map",
    html='<div class="hw-map"></div>',
    js="""
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".hw-map");
  if (root.drawn !== data.table) root.innerHTML = root.drawn = data.table;
  root.querySelectorAll("tbody tr").forEach((row, i) => {
    row.classList.toggle("hw-lit", i === data.lit);
    if (i === data.lit) row.setAttribute("aria-current", "step");
    else row.removeAttribute("aria-current");
  });
  root.onclick = (event) => {
    const button = event.target.closest("tr")?.querySelector("button");
    if (button) setTriggerValue("step", Number(button.textContent));
  };
}
""",
    isolate_styles=False,
)


def step_map(trace: Trace, current: int, parting: int | None = None) -> None:
    """Show the list, the step at index `current` lit; choosing a row moves the walk there.

    The step at index `parting`, if there is one, is marked.
    """
    columns = ("step", "line", "name", "op", "shape", "kind", "stride")
    _mount(
        "walk_map", [t(f"walk.column.{column}") for column in columns], [_row(step, parting) for step in trace], current
    )


def pair_map(
    right: Steps | None, wrong: Steps | None, parting: int | None, current: int, heads: tuple[str, str]
) -> None:
    """The same for two walks side by side, under `heads`; `parting` is where they part."""
    rows = []
    for i in range(max(len(right or ()), len(wrong or ()))):
        rows.append((_go(i, parting), _brief(right, i), _brief(wrong, i)))
    _mount("walk_pair", [t("walk.column.step"), *heads], rows, current)


def _mount(key: str, head: Sequence[str], rows: Sequence[Sequence[str]], current: int) -> None:
    last = len(rows)

    def go() -> None:
        chosen = state.trigger(key, "step")
        if isinstance(chosen, int) and 1 <= chosen <= last:
            state.put(state.WALK_STEP, chosen)
            state.by_hand(state.WALK_TICK)

    _COMPONENT(data={"table": table(head, rows), "lit": current}, key=key, on_step_change=go)


def _go(index: int, parting: int | None) -> str:
    sign = f' <span class="hw-tag hw-part">{t("walk.mistake.part")}</span>' if index == parting else ""
    return f'<button type="button">{index + 1}</button>{sign}'


def _row(step: Step, parting: int | None) -> tuple[str, ...]:
    return (
        _go(step.index, parting),
        str(step.source.line),
        f'<span class="hw-mono">{html.escape(step.name or "")}</span>',
        f'<span class="hw-mono">{html.escape(step.op)}</span>',
        shape_chip(step.output) if step.output else "",
        tag(step),
        f'<span class="hw-mono">{step.output.stride}</span>' if step.output else "",
    )


def _brief(trace: Steps | None, index: int) -> str:
    """A step in one cell; empty where the walk has ended by then, or does nothing like it."""
    step = trace[index] if trace is not None and index < len(trace) else None
    if step is None:
        return ""
    shape = shape_chip(step.output) if step.output else ""
    return f'<div class="hw-brief"><span class="hw-mono">{html.escape(step.op)}</span>{shape}{tag(step)}</div>'
