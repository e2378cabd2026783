"""Records a run of any torch code, operation by operation: what was written, what it did to memory, what each
axis means.

>>> import torch
>>> trace = record(lambda x: x.transpose(0, 1).reshape(6), torch.zeros(2, 3), axes=["L d_h"])
>>> [(step.op, step.kind, " ".join(map(str, step.output.axes))) for step in trace]
[('transpose', 'view', 'd_h L'), ('reshape', 'copy', 'd_h·L')]

What an axis means is worked out after the run. Layout operations are run on coordinates, so that it is known of every
element where it came from; computing operations carry meanings by their rules of contraction and broadcasting.

    B L H·d_h    a composite axis, the slowest part first
    L Lk         queries and keys of self-attention: the axis that is normalised and summed over with the values is
                 Lk; where the run does not say, the one that the right operand brought. Other meanings that meet
                 themselves get a prime (H H′)
    L·H mixed    the meanings change along another axis too, or operands that met here contradict each other
    ×4           copies that are not the members of a group of heads
    unknown      nobody can name it

The features that a weight makes get their meaning from the way they are split, of what the declared sizes allow:
``sizes={"H": 8}`` and the input's d_model give H and d_h; with ``"H_kv": 2`` every H is kept as H_kv·G, which is why
`repeat` (G·H_kv) and `repeat_interleave` (H) look different.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, TracebackType
from typing import Any, Literal

from core.errors import BadInput
from core.trace._axes import Axis, factor_sizes, parse
from core.trace._inputs import named_inputs, parameters
from core.trace._legality import Legality, view_legality
from core.trace._ops import op_name
from core.trace._read import Origin
from core.trace._record import DispatchLevel, FunctionLevel, is_outside
from core.trace._spans import Source, Sources
from core.trace._states import TensorState
from core.trace._step import Step
from core.trace._trace import Trace

__all__ = [
    "Axis", "Legality", "Origin", "Source", "Step", "TensorState", "Trace", "op_name", "record", "view_legality",
]  # fmt: skip


def record(
    function: Callable[..., Any],
    /,
    *args: Any,
    axes: Mapping[str, str] | Sequence[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    keep_values: bool = False,
    level: Literal["function", "dispatch"] = "function",
    sources: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> Trace:
    """Run ``function(*args, **kwargs)`` and return the trace of its torch operations.

    `function` is any callable: a module, function, method, lambda. An exception that it raises is not raised
    again but ends the trace (`Trace.error`; the step that raised is the last one). Only this thread is watched;
    nothing global is changed, nothing is patched, and gradients are tracked or not as they were.

    `axes` names the axes of the inputs, by name or by position: ``{"x": "B L d_model"}`` or ``["B L d_model"]``.
    `sizes` gives sizes that no axis has alone: ``{"H": 8}``, and ``{"H": 8, "H_kv": 2}`` for grouped heads; d_h
    follows from d_model and H. Raises BadInput where axes and sizes do not fit the inputs.
    `keep_values` keeps a detached clone of each output as `TensorState.value`. `level` "dispatch" shows the
    operators under the hood (``aten::…``). `sources` gives the text of code that was compiled from a string, by
    the file name it was compiled with. A keyword argument of `function` that is called like one of these must
    be bound beforehand (`functools.partial`).
    """
    recorder = (FunctionLevel if level == "function" else DispatchLevel)(keep_values=keep_values)
    given = named_inputs(function, args, kwargs)
    given_axes: dict[str, str] = {}
    if axes:
        shapes = {name: tuple(t.shape) for name, t in given.items()}
        if isinstance(axes, Mapping) and not axes.keys() <= shapes.keys():
            shapes |= {n: tuple(t.shape) for n, t in parameters(function, args) if n not in shapes}
        given_axes = _checked(axes, sizes or {}, shapes)
    inputs = {name: (recorder.raw(t), t.detach().clone() if keep_values else None) for name, t in given.items()}
    recorder.entry = inspect.currentframe()
    result, error, error_at = None, None, ()
    try:
        with recorder:
            result = function(*args, **kwargs)
    except Exception as raised:  # noqa: BLE001  whatever the traced code raises ends the trace
        error_at = _raised_at(raised.__traceback__)
        error = raised.with_traceback(None)  # its frames would keep every local tensor alive
    finally:
        recorder.entry = None
    return Trace(
        recorder.ops,
        inputs=inputs,
        parameters=lambda: recorder.storages.numbered(parameters(function, args)),
        storage_bytes=recorder.storages.nbytes,
        sources=Sources(sources),
        result=result,
        error=error,
        error_at=error_at,
        axes=given_axes,
        sizes=sizes or {},
    )


def _checked(
    axes: Mapping[str, str] | Sequence[str], sizes: Mapping[str, int], shapes: dict[str, tuple[int, ...]]
) -> dict[str, str]:
    """The axes by name of what they are the axes of; refused where they do not fit."""
    by_name = dict(axes) if isinstance(axes, Mapping) else dict(zip(shapes, axes, strict=False))
    if unknown := [name for name in by_name if name not in shapes]:
        raise BadInput("trace.axes-of-nothing", names=", ".join(unknown), known=", ".join(shapes))
    specs = {name: parse(text, shapes[name], name) for name, text in by_name.items()}
    known = dict(sizes)
    for name, spec in specs.items():
        known |= {f[0]: n for f, n in zip(spec, shapes[name], strict=True) if len(f) == 1 and f[0] not in known}
    for name, spec in specs.items():
        for factors, size in zip(spec, shapes[name], strict=True):
            factor_sizes(factors, size, known, name)
    return by_name


def _raised_at(traceback: TracebackType | None) -> tuple[tuple[CodeType, int], ...]:
    """The innermost of the user's frames that an exception passed."""
    at: tuple[tuple[CodeType, int], ...] = ()
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_outside(code.co_filename):
            at = ((code, traceback.tb_lasti),)
        traceback = traceback.tb_next
    return at
