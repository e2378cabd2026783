"""The stride lab: what each call of a typed chain does to shape, strides and memory."""

import html

import streamlit as st

from core.errors import Explained
from core.trace import Step, TensorState, Trace, lab
from pages._ui import chrome, state
from pages._ui.i18n import t
from pages._ui.text import chip
from pages._ui.walk import memory, picture
from pages._ui.walk.colours import axis_colours
from pages._ui.walk.parts import story, tag

SHAPE, CHAIN, VIEW = "2, 3, 8", "view(2, 3, 4, 2).transpose(1, 2)", "2, 24"
EXAMPLES = {
    "split": (SHAPE, CHAIN, VIEW),
    "wrong_split": (SHAPE, "view(2, 4, 3, 2)", "2, 24"),
    "repeat": ("3, 2", "repeat(2, 1)", "12"),
    "interleave": ("3, 2", "repeat_interleave(2, dim=0)", "12"),
    "expand": ("3, 1, 2", "expand(3, 2, 2)", "6, 2"),
    "chunk": ("2, 12", "chunk(3, dim=-1)[1]", "2, 2, 2"),
}


def inputs() -> tuple[str, str, str]:
    """What is typed: the shape, the chain, and the shape that a view is asked of."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shape = st.text_input(t("lab.shape"), SHAPE, key=state.LAB_SHAPE, bind="query-params", width=150)
        chain = st.text_input(t("lab.chain"), CHAIN, key=state.LAB_CHAIN, bind="query-params")
        view = st.text_input(t("lab.view"), VIEW, key=state.LAB_VIEW, bind="query-params", width=150)
    with st.container(horizontal=True):
        for name, example in EXAMPLES.items():
            st.button(t(f"lab.example.{name}"), on_click=_fill, args=example, key=f"lab_example_{name}")
    return shape or "", chain or "", view or ""


def _fill(shape: str, chain: str, view: str) -> None:
    for key, value in ((state.LAB_SHAPE, shape), (state.LAB_CHAIN, chain), (state.LAB_VIEW, view)):
        state.put(key, value)


def stages(trace: Trace) -> None:
    """The tensor at the start and after each call, with its memory."""
    start = trace.inputs["x"]
    axes = lab.AXES[: len(start.shape)]
    options = axes or lab.AXES[:1]
    state.linked(state.LAB_AXIS, options, options[0])
    st.segmented_control(
        t("lab.colour"), options, key=state.LAB_AXIS, required=True, persist_state="session", help=t("lab.colour.help")
    )
    state.link(state.LAB_AXIS, options[0])
    axis, inner = state.choice(state.LAB_AXIS, options, options[0]), options[-1]
    _stage(t("lab.start"), start, axis, inner)
    for step in trace:
        call = html.escape(f"{step.op}({step.args})")
        heading = f'{step.index + 1} · <span class="hw-mono">.{call}</span> &nbsp;{tag(step)}'
        if step.output is None:
            _refused(heading, trace, step)
        else:
            _stage(heading, step.output, axis, inner, step)


def _stage(heading: str, tensor: TensorState, axis: str, inner: str, step: Step | None = None) -> None:
    colours = axis_colours(tensor, axis, inner)
    contiguous = t("walk.contiguous") if tensor.is_contiguous else t("walk.not_contiguous")
    alt = t("walk.alt", shape=tensor.shape, stride=tensor.stride)
    with st.container(border=True):
        st.html(f"<strong>{heading}</strong>")
        drawn, stored = st.columns([1, 1], gap="small")
        with drawn:
            st.html(
                f'{chip(_named(tensor))}<div class="hw-small">{t("walk.stride")} '
                f'<span class="hw-mono">{tensor.stride}</span> · {t("lab.offset")} '
                f'<span class="hw-mono">{tensor.offset}</span> · {contiguous}</div>'
                f"{picture.blocks(tensor, colours, alt)}"
            )
            if step is not None:
                st.markdown(story(step, [str(i) for i in range(len(tensor.shape))]))
        with stored:
            st.html(
                f'<div class="hw-mute hw-small">{t("walk.memory.stored")}</div>'
                f"{memory.storage_strip(tensor, colours)}"
                f'<div class="hw-mute hw-small">{t("lab.read")}</div>{memory.reading_strip(tensor, colours)}'
            )


def _named(tensor: TensorState) -> list[tuple[str, int]]:
    """The axes by the letters of the start; a part of one, or several in one, has no letter of its own."""
    names = ["" if axis.mixed else str(axis) for axis in tensor.axes] or [""] * len(tensor.shape)
    return list(zip(names, tensor.shape, strict=True))


def _refused(heading: str, trace: Trace, step: Step) -> None:
    with st.container(border=True):
        st.html(f"<strong>{heading}</strong>")
        st.code(f"{type(step.error).__name__}: {step.error}", None, wrap_lines=True)
        if step.explanation is not None:
            chrome.teach(_by_call(step.explanation, trace))


def _by_call(explanation: Explained, trace: Trace) -> Explained:
    """The explanation with the number of the call in the place of a line: a chain has no lines."""
    params = dict(explanation.params)
    if "line" in params:
        params["line"] = max((s.index + 1 for s in trace if s.op == params.get("cause")), default=0)
    return Explained(explanation.code, **params)


def view_verdict(trace: Trace) -> None:
    """Whether the view that was asked for is legal after the chain, and why not. `trace` ends with that view."""
    step = trace[-1]
    if step.output is not None:
        st.success(t("lab.legal", shape=step.output.shape, stride=step.output.stride), icon=":material/check:")
        return
    st.markdown(f"**{t('lab.illegal')}**")
    if step.explanation is not None:
        chrome.teach(_by_call(step.explanation, trace))
