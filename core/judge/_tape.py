"""A trace as data that crosses a process border: what each step did, where it stands, and the numbers it made."""

from typing import Any

import torch

from core.trace import Step, TensorState, Trace


def describe_trace(trace: Trace, most: int) -> list[dict[str, Any]]:
    """The steps as wire objects, at most `most` of them."""
    return [_step(step) for step in trace.steps[:most]]


def _step(step: Step) -> dict[str, Any]:
    source = step.source
    return {
        "op": step.op,
        "kind": step.kind,
        "args": step.args,
        "given": _plain(list(step.given)),
        "options": _plain(dict(step.options)),
        "line": source.line,
        "end_line": source.end_line,
        "col": source.col,
        "end_col": source.end_col,
        "text": source.text,
        "callers": [[c.line, c.col, c.end_line, c.end_col] for c in step.callers],
        "inputs": [_state(state) for state in step.inputs],
        "outputs": [_state(state, value=True) for state in step.outputs],
        "error": None if step.error is None else type(step.error).__name__,
    }


def _state(state: TensorState, *, value: bool = False) -> dict[str, Any]:
    told: dict[str, Any] = {
        "storage": state.storage,
        "offset": state.offset,
        "shape": list(state.shape),
        "stride": list(state.stride),
        "dtype": str(state.dtype).removeprefix("torch."),
        "name": state.name,
        "parameter": state.is_parameter,
        "grad": state.requires_grad,
    }
    if value and state.value is not None:
        told["value"] = state.value
    return told


def _plain(value: Any) -> Any:
    """Arguments as wire objects: tensors are ``{"tensor": n}``, the n-th input; what is no plain value is its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, slice):
        return {"slice": [_plain(value.start), _plain(value.stop), _plain(value.step)]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    index = getattr(value, "index", None)
    return {"tensor": index} if isinstance(index, int) else {"text": repr(value)[:100]}
