"""The pieces of a step as HTML, both languages: its title, its tensors before and after, its memory, its story."""

import html

import streamlit as st

from core.markup import parse
from core.trace import Step, TensorState, view_legality
from pages._ui import chrome
from pages._ui.i18n import t
from pages._ui.text import chip
from pages._ui.walk import memory, picture
from pages._ui.walk.colours import ColourBy, element_colours


def tag(step: Step) -> str:
    """view, copy, compute, or that the step raised."""
    kind = "error" if step.error else step.kind
    return f'<span class="hw-tag hw-{kind}">{t(f"walk.kind.{kind}")}</span>'


def named_axes(tensor: TensorState) -> list[tuple[str, int]]:
    """(axis name, size) of each axis."""
    names = [str(axis) for axis in tensor.axes] or [""] * len(tensor.shape)
    return list(zip(names, tensor.shape, strict=True))


def shape_chip(tensor: TensorState) -> str:
    return chip(named_axes(tensor))


def title(step: Step) -> str:
    call = html.escape(f"{step.op}({step.args})" if step.args else step.op)
    bound = f' → <span class="hw-mono">{html.escape(step.name)}</span>' if step.name else ""
    return (
        f"<strong>{t('walk.line', line=step.source.line)}</strong> · "
        f'<span class="hw-mono">{call}</span>{bound} &nbsp;{tag(step)}'
    )


def change(step: Step, by: ColourBy) -> str:
    """Before, an arrow, after: the tensors that the step read (weights as their chips alone), and what it made."""
    read = [tensor for tensor in step.inputs if not tensor.is_parameter]
    before = "".join(tensor_block(tensor, t("walk.before"), by) for tensor in read[:2])
    weights = "".join(tensor_block(tensor, tensor.name or "") for tensor in step.inputs if tensor.is_parameter)
    after = "".join(tensor_block(tensor, t("walk.after"), by) for tensor in step.outputs[:3])
    made = f'<div class="hw-arrow">→</div><div>{after}</div>' if after else ""
    return f'<div class="hw-change"><div>{before}{weights}</div>{made}</div>'


def tensor_block(tensor: TensorState, caption: str, by: ColourBy | None = None) -> str:
    contiguous = t("walk.contiguous") if tensor.is_contiguous else t("walk.not_contiguous")
    drawn = ""
    if by is not None:
        alt = t("walk.alt", shape=_spoken(tensor), stride=tensor.stride)
        label = str(tensor.axes[-3]) if len(tensor.shape) >= 4 else ""
        drawn = picture.blocks(tensor, element_colours(tensor, by), alt, label)
    return (
        f'<div class="hw-mute hw-small">{html.escape(caption)}</div>{shape_chip(tensor)}'
        f'<div class="hw-small">{t("walk.stride")} <span class="hw-mono">{tensor.stride}</span><br>'
        f'<span class="hw-mute">{contiguous}</span></div>{drawn}'
    )


def _spoken(tensor: TensorState) -> str:
    return ", ".join(f"{name} {size}".strip() for name, size in named_axes(tensor))


def told(step: Step, by: ColourBy) -> str:
    """A step in one piece: its title, its tensors before and after, its story."""
    return f'{title(step)}{change(step, by)}<p class="hw-story">{_marked_up(story(step))}</p>'


def raised(step: Step) -> None:
    """The exception that ended the run at a step, and why; nothing where there is none."""
    if step.error is None:
        return
    st.code(f"{type(step.error).__name__}: {step.error}", None, wrap_lines=True)
    if step.explanation is not None:
        chrome.teach(step.explanation)


def _marked_up(text: str) -> str:
    """The Markdown of a story as HTML."""
    marks = {"code": '<span class="hw-mono">{}</span>', "bold": "<strong>{}</strong>"}
    return "".join(marks.get(part.kind, "{}").format(html.escape(part.text)) for part in parse(text))


def story(step: Step, names: list[str] | None = None) -> str:
    """What the step did to memory, in one or two sentences filled from the step itself; Markdown.

    `names` are what to call the axes of its output, where not by their meaning.
    """
    if step.error is not None or step.output is None:
        return t("walk.story.error", error=type(step.error).__name__)
    if step.kind == "view":
        source = next((s for s in step.inputs if s.storage == step.output.storage), step.output)
        if source.stride == step.output.stride and source.shape == step.output.shape:
            return t("walk.story.same")
        told = t("walk.story.view", before=source.stride, after=step.output.stride)
        return f"{told} {_mergeable(step.output, names or [str(axis) for axis in step.output.axes])}"
    if step.kind == "copy":
        return t("walk.story.copy", nbytes=f"{step.output.nbytes:,}", moved=f"{step.bytes_moved:,}")
    if step.flops:
        return t("walk.story.compute", nbytes=f"{step.output.nbytes:,}", flops=f"{step.flops:,}")
    return t("walk.story.elementwise", nbytes=f"{step.output.nbytes:,}")


def _mergeable(tensor: TensorState, names: list[str]) -> str:
    """Whether every two neighbouring axes could be made one by `view`; else which could not."""
    stuck = []
    for i in range(len(tensor.shape) - 1):
        merged = (*tensor.shape[:i], tensor.shape[i] * tensor.shape[i + 1], *tensor.shape[i + 2 :])
        if not view_legality(tensor.shape, tensor.stride, merged):
            stuck.append(f"`{names[i]}` + `{names[i + 1]}`")
    if tensor.is_contiguous:
        return t("walk.story.contiguous")
    return t("walk.story.stuck", pairs=t("walk.story.and").join(stuck)) if stuck else t("walk.story.gaps")


def memory_strips(out: TensorState, step: Step, by: ColourBy) -> str:
    """The memory of `out`, which the step made: as it is stored, and as the tensors before and after read it."""
    source = next((s for s in step.inputs if s.storage == out.storage and s.stride != out.stride), None)
    shown = memory.window(out)
    more = t("walk.memory.shown", first=shown.start, last=shown.stop - 1, size=out.storage_size)
    colours, names = element_colours(out, by), [name for name, _ in named_axes(out)]
    read = [("walk.memory.after", memory.reading_strip(out, colours))]
    if source is not None:
        read.insert(0, ("walk.memory.before", memory.reading_strip(source, element_colours(source, by))))
    stored = [t("walk.memory.stored"), t("walk.memory.jumps")]
    if alone := [name for name, size in named_axes(out) if size == 1]:
        stored.append(t("walk.memory.alone", axes=", ".join(alone)))
    return (
        f'<strong>{t("walk.memory")}</strong> <span class="hw-mute hw-small">{more}</span>'
        f'<div class="hw-mute hw-small">{html.escape(" · ".join(stored))}</div>'
        f"{memory.storage_strip(out, colours, names)}"
        + "".join(f'<div class="hw-mute hw-small">{t(key)}</div>{strip}' for key, strip in read)
    )


def legend() -> str:
    entries = (
        f"{chip([(axis, '')])} {t(f'legend.{axis}')}" for axis in ("B", "L", "Lk", "H", "H_kv", "d_h", "d_model")
    )
    return f'<div class="hw-legend hw-small">{"".join(f"<span>{entry}</span>" for entry in entries)}</div>'
