"""A tensor drawn as blocks in true proportion: its last two axes are rows and columns, the third last goes across."""

import base64
import html
import io

import numpy as np
from PIL import Image

from core.trace import TensorState
from pages._ui.i18n import t

_WIDEST = 190  # CSS pixels that one tensor may take, so that before and after stand side by side
_TALLEST = 960  # as far as cells of one pixel allow: many large blocks are drawn smaller
_MOST = 128  # blocks; of more, the first are drawn
_CELL = 16  # of one element, where there is room
_GAPS_FROM = 5  # CSS pixels an element: from here on there is room for a gap


def blocks(state: TensorState, colours: np.ndarray, alt: str, label: str = "") -> str:
    """HTML of the tensor in `colours` (*state.shape, 3). `alt` describes it for a reader who cannot see it.

    `label` names the third last axis, over each of its blocks.
    """
    while colours.ndim < 4:  # a vector is one row, a matrix one block
        colours = colours[None]
    colours = colours.reshape(-1, *colours.shape[-3:])  # (blocks, rows, columns, 3)
    left_out = len(colours) - _MOST
    colours, columns = colours[:_MOST], colours.shape[2]
    across = min(state.shape[-3], _MOST) if len(state.shape) >= 4 else 1
    in_a_row = min(across, 4 if across * columns <= _WIDEST else 2)  # wide blocks go on in the next row
    cell = max(1, min(_CELL, (_WIDEST - 10 * in_a_row) // (in_a_row * columns)))
    while cell > 1 and _height(len(colours), across, *colours.shape[1:3], cell) > _TALLEST:
        cell -= 1
    drawn = []
    for i, block in enumerate(colours):
        caption = f"<figcaption>{html.escape(label)} {i % across}</figcaption>" if label else ""
        drawn.append(f"<figure>{caption}{_image(block, cell, alt if i == 0 else '')}</figure>")
    groups = [drawn[i : i + across] for i in range(0, len(drawn), across)]
    row = f'<div style="max-width:{max(_WIDEST, in_a_row * (columns * cell + 10))}px">'
    more = f'<div class="hw-mute hw-small">{t("walk.more_blocks", count=left_out)}</div>' if left_out > 0 else ""
    return '<div class="hw-tensor">' + "".join(f"{row}{''.join(group)}</div>" for group in groups) + more + "</div>"


def _height(count: int, across: int, rows: int, columns: int, cell: int) -> int:
    """CSS pixels that `count` blocks take, `across` of them in a group, with their captions and gaps."""
    in_a_row = max((_WIDEST + 8) // (columns * cell + 8), 1)
    return count // across * -(-across // in_a_row) * (rows * cell + 24)


def _image(block: np.ndarray, cell: int, alt: str) -> str:
    """One block (rows, columns, 3) as a picture, `cell` CSS pixels an element, gaps between them where they fit."""
    rows, columns = block.shape[:2]
    pixels = block
    if cell >= _GAPS_FROM:  # else one pixel an element, which the browser makes larger
        pixels = np.zeros((rows * cell, columns * cell, 4), dtype=np.uint8)
        pixels[..., :3] = block.repeat(cell, axis=0).repeat(cell, axis=1)
        pixels[..., 3] = 255
        pixels[cell - 1 :: cell, :, 3] = 0
        pixels[:, cell - 1 :: cell, 3] = 0
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)  # fast: the pictures are small either way
    data = base64.b64encode(file.getvalue()).decode()
    size = f'width="{columns * cell}" height="{rows * cell}"'
    return f'<img alt="{html.escape(alt)}" {size} src="data:image/png;base64,{data}">'
