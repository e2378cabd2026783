"""Small pieces of the walk that its picture and its map share."""

from core.trace import Step, TensorState
from pages._ui.i18n import t
from pages._ui.text import chip


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
