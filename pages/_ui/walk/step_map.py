"""The list of all steps: each row says shape, kind and stride, and a click or Enter on it goes there."""

import html

import streamlit as st

from core.trace import Step, Trace
from pages._ui import state
from pages._ui.i18n import t
from pages._ui.text import table
from pages._ui.walk.parts import shape_chip, tag

_KEY = "walk_map"
# The table is the project's own HTML, everything in it escaped where it was made.
_COMPONENT = st.components.v2.component(
    "headwise_step_map",
    html='<div class="hw-map"></div>',
    js="""
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".hw-map");
  if (root.innerHTML !== data.table) root.innerHTML = data.table;
  root.onclick = (event) => {
    const button = event.target.closest("tr")?.querySelector("button");
    if (button) setTriggerValue("step", Number(button.textContent));
  };
}
""",
    isolate_styles=False,
)


def step_map(trace: Trace, current: Step) -> None:
    """Show the list; choosing a row moves the walk there."""
    columns = ("step", "line", "name", "op", "shape", "kind", "stride")
    head = [t(f"walk.column.{column}") for column in columns]
    drawn = table(head, [_row(step) for step in trace], lit=current.index)
    last = len(trace)

    def go() -> None:
        chosen = state.trigger(_KEY, "step")
        if isinstance(chosen, int) and 1 <= chosen <= last:
            state.put(state.WALK_STEP, chosen)
            state.by_hand(state.WALK_TICK)

    _COMPONENT(data={"table": drawn}, key=_KEY, on_step_change=go)


def _row(step: Step) -> tuple[str, ...]:
    return (
        f'<button type="button">{step.index + 1}</button>',
        str(step.source.line),
        f'<span class="hw-mono">{html.escape(step.name or "")}</span>',
        f'<span class="hw-mono">{html.escape(step.op)}</span>',
        shape_chip(step.output) if step.output else "",
        tag(step),
        f'<span class="hw-mono">{step.output.stride}</span>' if step.output else "",
    )
