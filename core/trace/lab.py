"""A chain of layout calls on a small tensor, as one types it: what each call does to shape, strides and memory.

    trace = run((2, 3, 8), "view(2, 3, 4, 2).transpose(1, 2)")

Nothing typed is evaluated. The text is parsed into method calls from a fixed list with whole numbers as arguments,
tried without memory first (on torch's meta device), and only then run and recorded on 0, 1, 2 … in the asked shape.

Covered: names outside the list, arguments that are no numbers, tensors and results that are too large, chains that are
too long. Not covered: time, since every call on the list takes a single pass over at most `MOST` elements.
"""

import ast
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from core.errors import BadInput
from core.trace import Trace, record

MOST = 4096  # elements of a tensor
LONGEST = 12  # calls of a chain

CALLS = (
    "as_strided", "chunk", "clone", "contiguous", "expand", "flatten", "flip", "movedim", "narrow", "permute", "repeat",
    "repeat_interleave", "reshape", "roll", "select", "split", "squeeze", "swapaxes", "t", "transpose", "unbind",
    "unflatten", "unsqueeze", "view",
)  # fmt: skip
ATTRIBUTES = ("T", "mT")
AXES = ("a", "b", "c", "d", "e", "f")
_KEYWORDS = frozenset(("dim", "dims", "dim0", "dim1", "start_dim", "end_dim", "start", "length", "index", "repeats",
                       "shifts", "chunks", "split_size", "sizes", "size", "stride", "storage_offset", "source",
                       "destination", "axis0", "axis1"))  # fmt: skip
_SIZE = re.compile(r"[0-9]{1,5}")

Call = Callable[[Any], Any]


def run(shape: tuple[int, ...], chain: str) -> Trace:
    """Record the chain on a tensor of that shape; a call that torch refuses ends the trace with its error.

    `chain` is written as after the tensor: "view(2, 5, 4, 4).transpose(1, 2)[0]". The axes of the shape are called
    `AXES` in the trace, so that every element of every stage can be asked where it came from.
    Raises BadInput for a text that is no such chain, and for more than `MOST` elements.
    """
    calls = parse_chain(chain)
    _try_without_memory(shape, calls)
    x = torch.arange(torch.Size(shape).numel()).view(shape)
    return record(lambda x: _through(x, calls), x, axes={"x": " ".join(AXES[: len(shape)])} if shape else None)


def parse_shape(text: str) -> tuple[int, ...]:
    """A shape as typed: "2, 5, 16", brackets and torch.Size round it or not. Raises BadInput."""
    parts = _parts(text)
    if len(parts) > len(AXES) or not all(_SIZE.fullmatch(part) for part in parts):
        raise BadInput("trace.lab-shape", text=text[:60])
    sizes = tuple(int(part) for part in parts)
    if torch.Size(sizes).numel() > MOST:
        raise BadInput("trace.lab-too-large", shape=sizes, most=MOST)
    return sizes


def _parts(text: str) -> list[str]:
    inner = text.strip().removeprefix("torch.Size").strip("()[] ").rstrip(",")
    return [part.strip() for part in inner.split(",")] if inner else []


def parse_target(text: str) -> tuple[int, ...]:
    """The shape that a view is asked of, as typed; one size may be -1. Raises BadInput."""
    asked = re.sub(r"-1(?![0-9])", "1", text, count=1)
    sizes = parse_shape(asked)
    return (
        sizes
        if asked == text
        else tuple(-1 if "-1" in part else n for part, n in zip(_parts(text), sizes, strict=True))
    )


def parse_chain(text: str) -> tuple[Call, ...]:
    """The calls of a chain as typed, each a function from tensor to tensor. Raises BadInput."""
    tail = text.strip().lstrip(".")
    if not tail:
        return ()
    if len(text) > 400:
        raise BadInput("trace.lab-chain", text=f"{text[:40]}…")
    try:
        node = ast.parse(f"x{tail if tail.startswith('[') else '.' + tail}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadInput("trace.lab-chain", text=text[:60]) from None
    calls: list[Call] = []
    while not isinstance(node, ast.Name):
        call, node = _call(node)
        calls.append(call)
        if len(calls) > LONGEST:
            raise BadInput("trace.lab-too-long", longest=LONGEST)
    return tuple(reversed(calls))


def _call(node: ast.expr) -> tuple[Call, ast.expr]:
    """The outermost call of an expression, and what it is called on."""
    match node:
        case ast.Call(func=ast.Attribute(value=on, attr=name), args=args, keywords=keywords) if name in CALLS:
            given = [_number(arg) for arg in args]
            named = {word.arg: _number(word.value) for word in keywords if word.arg in _KEYWORDS}
            if len(named) != len(keywords):
                raise BadInput("trace.lab-argument", text=ast.unparse(node)[-60:])
            return lambda x: getattr(x, name)(*given, **named), on
        case ast.Attribute(value=on, attr=name) if name in ATTRIBUTES:
            return lambda x: getattr(x, name), on
        case ast.Subscript(value=on, slice=index):
            place = _index(index)
            return lambda x: x[place], on
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Attribute(attr=name):
            raise BadInput("trace.lab-call", name=name[:40], calls=", ".join((*CALLS, *ATTRIBUTES)))
    raise BadInput("trace.lab-chain", text=ast.unparse(node)[:60])


def _number(node: ast.expr) -> Any:
    """A whole number, or a tuple or list of them."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(value)) if value <= 1_000_000:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if value <= 1_000_000:
            return -value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_number(part) for part in parts)
    raise BadInput("trace.lab-argument", text=ast.unparse(node)[:60])


def _index(node: ast.expr) -> Any:
    """What may stand in square brackets: whole numbers, slices, None and …, one or several."""
    match node:
        case ast.Tuple(elts=parts):
            return tuple(_index(part) for part in parts)
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if part is None else _number(part) for part in (lower, upper, step)))
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=value) if value is ...:
            return ...
    return _number(node)


def _through(x: Any, calls: tuple[Call, ...]) -> Any:
    for call in calls:
        x = call(x)
    return x


def _try_without_memory(sizes: tuple[int, ...], calls: tuple[Call, ...]) -> None:
    """Raises BadInput where a tensor of the chain would be too large. What torch refuses is left to the real run."""
    x: Any = torch.empty(sizes, device="meta")
    for call in calls:
        try:
            x = call(x)
        except Exception:  # noqa: BLE001 the run itself tells
            return
        for made in x if isinstance(x, (tuple, list)) else (x,):
            if isinstance(made, Tensor) and made.numel() > MOST:
                raise BadInput("trace.lab-too-large", shape=tuple(made.shape), most=MOST)
