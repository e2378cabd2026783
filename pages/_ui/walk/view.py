"""The walk as it stands on the page: controls, source, tensors before and after, memory, and the map of all steps."""

import html

import streamlit as st

from core.trace import Step, TensorState, Trace
from pages._ui import state
from pages._ui.i18n import t
from pages._ui.text import chip
from pages._ui.walk import memory, picture
from pages._ui.walk.colours import COLOUR_BY, ColourBy
from pages._ui.walk.listing import listing
from pages._ui.walk.parts import named_axes, shape_chip, tag
from pages._ui.walk.runs import DEFAULTS, KINDS, LABELS, LIMITS, SIZES, Setup
from pages._ui.walk.step_map import step_map

PLAY_SECONDS = 1.4


def controls() -> Setup:
    """One row: which attention, and its sizes."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.segmented_control(
            t("walk.attention"),
            KINDS,
            format_func=LABELS.__getitem__,
            key=state.WALK_KIND,
            bind="query-params",
            required=True,
            default=KINDS[0],
        )
        kind = state.choice(state.WALK_KIND, KINDS, KINDS[0])
        sizes = dict(DEFAULTS)
        for name in SIZES[kind]:
            key = state.WALK_SIZES[name]
            low, high = LIMITS[name]
            st.number_input(key, low, high, DEFAULTS[name], key=key, bind="query-params", width=96)
            sizes[name] = state.whole_number(key, low, high, DEFAULTS[name])
        _colour_choice()
    return Setup(kind, **sizes)


def _colour_choice() -> None:
    state.linked(state.WALK_COLOUR, COLOUR_BY, COLOUR_BY[0])
    st.segmented_control(
        t("walk.colour"),
        COLOUR_BY,
        format_func=lambda by: t(f"walk.colour.{by}"),
        key=state.WALK_COLOUR,
        required=True,
        persist_state="session",
    )
    state.link(state.WALK_COLOUR, COLOUR_BY[0])


def walk(trace: Trace) -> None:
    """The steps of a trace, one at a time. While it plays, it moves on by itself."""
    playing = state.get(state.WALK_PLAYING, False)
    run = state.new_run(state.WALK_TICK)
    st.fragment(_walk, run_every=PLAY_SECONDS if playing else None)(trace, run, playing)


def _walk(trace: Trace, run: int, ticking: bool) -> None:
    last = len(trace)
    if state.get(state.WALK_PLAYING, False) and state.is_tick(state.WALK_TICK, run):
        state.put(state.WALK_STEP, _current(last) + 1 if _current(last) < last else 1)
    elif state.get(state.WALK_STEP, 1) > last:  # other sizes have made the walk shorter
        state.put(state.WALK_STEP, last)
    _steppers(last)
    step = trace[_current(last) - 1]
    by = state.choice(state.WALK_COLOUR, COLOUR_BY, COLOUR_BY[0])
    source, tensors = st.columns([9, 10], gap="small")
    with source:
        st.html(listing(trace, step))
    with tensors:
        with st.container(border=True):
            st.html(_title(step))
            st.html(_change(step, by))
            st.markdown(_story(step))
        with st.container(border=True):
            _memory(step, by)
    with st.container(border=True):
        st.markdown(f"**{t('walk.map')}**")
        step_map(trace, step)
        st.html(_legend())
    if state.get(state.WALK_PLAYING, False) != ticking:
        st.rerun()  # the clock starts and stops with a run of the page, after every widget was drawn


def _steppers(last: int) -> None:
    playing = state.get(state.WALK_PLAYING, False)
    clock = state.WALK_TICK
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for label, shortcut, by in (("walk.back", "Left", -1), ("walk.next", "Right", 1)):
            st.button(
                t(label),
                shortcut=shortcut,
                type="primary" if by > 0 else "secondary",
                on_click=state.move,
                args=(state.WALK_STEP, by, last, clock),
            )
        icon = ":material/pause:" if playing else ":material/play_arrow:"
        st.button(
            t("walk.pause") if playing else t("walk.play"),
            icon=icon,
            key="walk_play",
            on_click=state.put,
            args=(state.WALK_PLAYING, not playing),
        )
        st.slider(
            t("walk.step", last=last),
            1,
            last,
            key=state.WALK_STEP,
            bind="query-params",
            on_change=state.by_hand,
            args=(clock,),
        )


def _current(last: int) -> int:
    return state.whole_number(state.WALK_STEP, 1, last, 1)


def _title(step: Step) -> str:
    call = html.escape(f"{step.op}({step.args})" if step.args else step.op)
    bound = f' → <span class="hw-mono">{html.escape(step.name)}</span>' if step.name else ""
    return (
        f"<strong>{t('walk.line', line=step.source.line)}</strong> · "
        f'<span class="hw-mono">{call}</span>{bound} &nbsp;{tag(step)}'
    )


def _change(step: Step, by: ColourBy) -> str:
    """Before, an arrow, after: the tensors that the step read (weights as their chips alone), and what it made."""
    read = [tensor for tensor in step.inputs if not tensor.is_parameter]
    before = "".join(_tensor(tensor, t("walk.before"), by) for tensor in read[:2])
    weights = "".join(_tensor(tensor, tensor.name or "") for tensor in step.inputs if tensor.is_parameter)
    after = "".join(_tensor(tensor, t("walk.after"), by) for tensor in step.outputs[:3])
    return f'<div class="hw-change"><div>{before}{weights}</div><div class="hw-arrow">→</div><div>{after}</div></div>'


def _tensor(tensor: TensorState, caption: str, by: ColourBy | None = None) -> str:
    contiguous = t("walk.contiguous") if tensor.is_contiguous else t("walk.not_contiguous")
    alt = t("walk.alt", shape=_spoken(tensor), stride=tensor.stride)
    return (
        f'<div class="hw-mute hw-small">{html.escape(caption)}</div>{shape_chip(tensor)}'
        f'<div class="hw-small">{t("walk.stride")} <span class="hw-mono">{tensor.stride}</span><br>'
        f'<span class="hw-mute">{contiguous}</span></div>{picture.blocks(tensor, by, alt) if by else ""}'
    )


def _spoken(tensor: TensorState) -> str:
    return ", ".join(f"{name} {size}".strip() for name, size in named_axes(tensor))


def _story(step: Step) -> str:
    """What the step did to memory, in one or two sentences filled from the step itself."""
    if step.error is not None or step.output is None:
        return t("walk.story.error", error=type(step.error).__name__)
    if step.kind == "view":
        source = next((s for s in step.inputs if s.storage == step.output.storage), step.output)
        if source.stride == step.output.stride and source.shape == step.output.shape:
            return t("walk.story.same")
        key = "walk.story.view" if step.output.is_contiguous else "walk.story.view_scattered"
        return t(key, before=source.stride, after=step.output.stride)
    if step.kind == "copy":
        return t("walk.story.copy", nbytes=f"{step.output.nbytes:,}", moved=f"{step.bytes_moved:,}")
    if step.flops:
        return t("walk.story.compute", nbytes=f"{step.output.nbytes:,}", flops=f"{step.flops:,}")
    return t("walk.story.elementwise", nbytes=f"{step.output.nbytes:,}")


def _memory(step: Step, by: ColourBy) -> None:
    out = step.output
    if out is None:
        return
    source = next((s for s in step.inputs if s.storage == out.storage and s.stride != out.stride), None)
    more = t("walk.memory.shown", shown=min(memory.SHOWN, out.storage_size), size=out.storage_size)
    strips = [("walk.memory.stored", memory.storage_strip(out, by))]
    if source is not None:
        strips.append(("walk.memory.before", memory.reading_strip(source, by)))
    strips.append(("walk.memory.after", memory.reading_strip(out, by)))
    rows = "".join(f'<div class="hw-mute hw-small">{t(key)}</div>{strip}' for key, strip in strips)
    st.html(f'<strong>{t("walk.memory")}</strong> <span class="hw-mute hw-small">{more}</span>{rows}')


def _legend() -> str:
    entries = (
        f"{chip([(axis, '')])} {t(f'legend.{axis}')}" for axis in ("B", "L", "Lk", "H", "H_kv", "d_h", "d_model")
    )
    return f'<div class="hw-legend hw-small">{"".join(f"<span>{entry}</span>" for entry in entries)}</div>'
