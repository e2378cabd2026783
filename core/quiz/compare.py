"""Holding the result of a run against what an answer claims about it; the two helpers that snippets use as well."""

import math
from collections.abc import Callable
from typing import Any


def same(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Whether `a` and `b` say the same.

    Ints exactly, floats to 1e-6 and tensors to 1e-5 (or to the relative `tolerance`); nan equals nan, since a run may
    end in nan; lists equal tuples; an exception equals the class it is of. Things of two families are never the same.
    """
    a, b = plain(a), plain(b)
    kind = family(a)
    if kind != family(b):
        return False
    if kind == "exception":
        one, other = (value if isinstance(value, type) else type(value) for value in (a, b))
        return issubclass(one, other) or issubclass(other, one)
    if kind == "tensor":
        import torch

        close = a.shape == b.shape
        return close and torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-5, equal_nan=True)
    if kind == "sequence":
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if kind == "number":
        if isinstance(a, int) and isinstance(b, int) and not tolerance:
            return a == b
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=max(tolerance, 1e-6))
    return a == b


def outcome(function: Callable[[], Any]) -> Any:
    """The shape of the tensor that `function` returns, or what else it returns, or the class of what it raises."""
    try:
        value = function()
    except NameError:
        raise  # a slip of the snippet, never the outcome asked for
    except Exception as error:  # noqa: BLE001 (that it raises is the outcome asked for)
        return type(error)
    return tuple(value.shape) if _is_tensor(value) else value


def plain(value: Any) -> Any:
    """Torch's spelling of a plain value made plain: a Size is a tuple, a tensor of one number that number."""
    if isinstance(value, tuple):
        return tuple(value)
    return value.item() if _is_tensor(value) and value.dim() == 0 else value


def family(value: Any) -> str:
    """What sort of thing `value` is: only things of one sort can be compared."""
    if isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException)):
        return "exception"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, (list, tuple)):
        return "sequence"
    return "tensor" if _is_tensor(value) else type(value).__name__


def shown(value: Any, limit: int = 1500) -> str:
    """`value` as a transcript shows it: its repr, but large tensors by their shape, exception classes by their name."""
    if isinstance(value, type):
        return value.__name__
    if _is_tensor(value) and value.numel() > 100:
        return f"<tensor of shape {tuple(value.shape)}, {value.dtype}>"
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + " …"


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)
