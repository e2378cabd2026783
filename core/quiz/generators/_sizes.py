"""Which sizes each generator draws: a function from `Draw` to what fills the placeholders of its template.

They choose small numbers that can be worked with in the head, and never what is right: that is the run's to say.
"""

from collections.abc import Callable, Mapping

from core.quiz.generators import _costs, _layout, _masks
from core.quiz.generators._draw import Draw, Sizes

SIZES: Mapping[str, Callable[[Draw], Sizes]] = _layout.SIZES | _masks.SIZES | _costs.SIZES
