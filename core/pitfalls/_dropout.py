"""Dropout that two sources can be compared with."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class SameDropout(TorchFunctionMode):
    """Inside, `F.dropout` (and so nn.Dropout) draws from a generator of its own, in this thread alone.

    Two sources that drop equally large tensors in the same order then lose the same places, and torch's own generator,
    which is the whole process's, stays as it is. The dropout inside a fused kernel is not reached.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.dropout:
            return self._dropout(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _dropout(self, t: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p == 0.0 or t.device.type == "meta":
            return t
        kept = torch.rand(t.shape, generator=self._generator, dtype=torch.float64) >= p
        scale = kept.to(t.dtype) / (1.0 - p)
        return t.mul_(scale) if inplace else t * scale  # as torch does: -inf that is dropped becomes nan
