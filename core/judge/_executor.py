"""What runs in the child: loads a submission, and answers requests about it.

A request is ``{"actions": [...]}``, its reply ``{"replies": [...]}``, one for each action; both are made of dicts,
lists, strings, numbers and tensors alone. Actions, by their "do":

    load     {source, name}: runs the source and finds the function or class called `name`
    make     {as, args, dtype, training}: builds the class; the reply has its parameters' shapes
    weights  {of, values}: writes parameters by name
    call     {of, as, args, kwargs, …}: calls it; the reply has the output, and what else was asked for:
             "grads", the "trace", the arguments as they are "after" the call
    walk     {of, args, axes, sizes}: calls it; the reply has the whole trace, for `core.trace.portable.load`

An action that fails replies ``{"error": {type, text, line, …}}``. What is expected is never known here: numbers are
compared by the grader, in another process.
"""

import contextlib
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from core.errors import BadInput, preload
from core.judge._edits import FILENAME, Births, Edited
from core.judge._tape import describe_trace
from core.trace import record
from core.trace.portable import dump

preload("trace")  # the sandbox reads no files
_MOST_STEPS = 4000


class Executor:
    """Owns one submission's code, the modules made of it and what its calls returned."""

    def __init__(self) -> None:
        self._source = ""
        self._callable: Any = None
        self._made: dict[str, Any] = {}
        self._results: dict[str, Any] = {}

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request; raises only for a request that is none."""
        return {"replies": [self._safely(action) for action in request["actions"]]}

    def _safely(self, action: Mapping[str, Any]) -> dict[str, Any]:
        does = {
            "load": self._load, "make": self._make, "weights": self._weights, "call": self._call, "walk": self._walk,
        }[action["do"]]  # fmt: skip
        try:
            return does(action)
        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:  # noqa: BLE001  whatever it is
            return {"error": describe_error(error)}

    def _load(self, action: Mapping[str, Any]) -> dict[str, Any]:
        self._source = action["source"]
        namespace: dict[str, Any] = {"__name__": "submission"}
        exec(compile(self._source, FILENAME, "exec"), namespace)  # nothing but submissions, and only in the sandbox
        if action["name"] not in namespace:
            defined = [n for n, v in namespace.items() if callable(v) and getattr(v, "__module__", "") == "submission"]
            return {"error": {"type": "NotDefined", "text": action["name"], "line": None, "defined": defined}}
        self._callable = namespace[action["name"]]
        return {"is_class": isinstance(self._callable, type)}

    def _make(self, action: Mapping[str, Any]) -> dict[str, Any]:
        self._made.pop(action["as"], None)
        births = Births()
        with births:
            made = self._callable(*action["args"])
        if not isinstance(made, nn.Module):
            return {"error": {"type": "NotAModule", "text": type(made).__name__, "line": None}}
        dtype = getattr(torch, action["dtype"])
        hidden = dict(hidden_tensors(made))
        if any(not tensor.requires_grad for tensor in hidden.values()):  # weights, or a table that is always the same?
            again = dict(hidden_tensors(self._callable(*action["args"])))
            hidden = {name: t for name, t in hidden.items() if t.requires_grad or not torch.equal(t, again[name])}
        born = births.lines({**dict(made.named_parameters()), **hidden})
        made.to(dtype=dtype, device=action.get("device", "cpu"))
        for tensor in hidden.values():
            tensor.data = tensor.data.to(dtype)
        made.train(action["training"])
        self._made[action["as"]] = made
        linear = {
            f"{name}.weight".removeprefix(".") for name, part in made.named_modules() if isinstance(part, nn.Linear)
        }
        return {
            "parameters": {name: list(p.shape) for name, p in made.named_parameters()},
            "hidden": {name: list(t.shape) for name, t in hidden.items()},
            "linear": sorted(linear),
            "buffers": {name: list(b.shape) for name, b in made.named_buffers()},
            "state": sorted(made.state_dict()),
            "born": born,
        }

    def _weights(self, action: Mapping[str, Any]) -> dict[str, Any]:
        made = self._made[action["of"]]
        tensors = {**dict(made.named_parameters()), **dict(hidden_tensors(made))}
        with torch.no_grad():
            for name, value in action["values"].items():
                tensors[name].copy_(value)
        return {}

    def _call(self, action: Mapping[str, Any]) -> dict[str, Any]:
        function = self._made[action["of"]] if action["of"] else self._callable
        given = [self._results[a["result_of"]][1] if isinstance(a, dict) else a for a in action["args"]]
        kwargs = dict(action.get("kwargs", {}))
        if action.get("device"):
            given = [a.to(action["device"]) if isinstance(a, Tensor) else a for a in given]
            kwargs = {name: a.to(action["device"]) for name, a in kwargs.items()}
        grad = action.get("grad", False)
        if grad:
            for tensor in (*given, *kwargs.values()):
                if isinstance(tensor, Tensor) and tensor.is_floating_point():
                    tensor.requires_grad_()
        torch.manual_seed(action.get("seed", 0))  # this process is the submission's alone
        reply: dict[str, Any] = {}
        with torch.set_grad_enabled(grad or action.get("attached", False)):
            result = self._run(function, given, kwargs, action, reply)
        if "error" in reply:
            return reply
        if action.get("device"):
            return reply
        self._results[action["as"]] = result
        reply |= describe_result(result)
        if grad and "error" not in reply:
            reply["grads"] = gradients(result, function, given, kwargs)
        if action.get("after"):
            reply["after"] = [t.detach().clone() for t in (*given, *kwargs.values()) if isinstance(t, Tensor)]
        return reply

    def _run(
        self, function: Any, given: list[Any], kwargs: dict[str, Any], action: Mapping[str, Any], reply: dict[str, Any]
    ) -> Any:
        edits = action.get("edits", [])
        if action.get("backend") == "math":  # set for the whole process, which is the submission's alone
            with sdpa_kernel(SDPBackend.MATH):
                return function(*given, **kwargs)
        if not action.get("trace"):
            with Edited(edits) if edits else contextlib.nullcontext(), quiet(function, on=action.get("quiet", False)):
                return function(*given, **kwargs)
        trace = record(function, *given, keep_values=True, sources={FILENAME: self._source}, **kwargs)
        reply["trace"] = describe_trace(trace, _MOST_STEPS)
        if trace.error is not None:
            reply["error"] = describe_error(trace.error, trace)
        return trace.result

    def _walk(self, action: Mapping[str, Any]) -> dict[str, Any]:
        function = self._made[action["of"]] if action["of"] else self._callable
        torch.manual_seed(0)  # this process is the submission's alone
        with torch.no_grad():
            trace = record(
                function, *action["args"], axes=action["axes"], sizes=action["sizes"], keep_values=True,
                sources={FILENAME: self._source},
            )  # fmt: skip
        try:
            told = dump(trace)
        except BadInput as refusal:
            return {"refused": {"code": refusal.code, "params": {k: str(v) for k, v in refusal.params.items()}}}
        for step in told["steps"]:
            if any(value.dtype == torch.complex128 for value in step["values"]):  # which the wire does not take
                step["values"] = []
        return {"walk": told}


@contextlib.contextmanager
def quiet(function: Any, *, on: bool) -> Generator[None]:
    """Without dropout, whatever mode the module is in and whether it looks at it or not."""
    if not on:
        yield
        return
    kept: list[tuple[nn.Module, str, float]] = []
    for part in function.modules() if isinstance(function, nn.Module) else ():
        for name in ("p", "dropout"):
            if isinstance(part, (nn.modules.dropout._DropoutNd, nn.MultiheadAttention)) and hasattr(part, name):
                kept.append((part, name, getattr(part, name)))
                setattr(part, name, 0.0)
    try:
        with Edited(_NO_DROPOUT):
            yield
    finally:
        for part, name, value in kept:
            setattr(part, name, value)


_NO_DROPOUT = (
    {"op": "dropout", "line": None, "do": "identity"},
    {"op": "scaled_dot_product_attention", "line": None, "do": "argument", "value": {"dropout_p": 0.0}},
)


def hidden_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Weights that the module does not know of: in plain lists and dicts, or plain tensors in attributes."""
    known = {id(p) for p in (*module.parameters(), *module.buffers())}
    for prefix, part in module.named_modules():
        for name, value in vars(part).items():
            if not name.startswith("_"):
                yield from _inside(f"{prefix}.{name}".removeprefix("."), value, known, 4)


def _inside(name: str, value: Any, known: set[int], depth: int) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        if value.is_leaf and id(value) not in known and (value.requires_grad or _looks_like_weights(value)):
            known.add(id(value))
            yield name, value
    elif isinstance(value, nn.Module):
        for inner, parameter in value.named_parameters():
            yield from _inside(f"{name}.{inner}", parameter, known, 0)
        yield from ((f"{name}.{inner}", t) for inner, t in hidden_tensors(value) if id(t) not in known)
    elif depth and type(value).__module__ == "submission" and hasattr(value, "__dict__"):
        for key, part in vars(value).items():
            yield from _inside(f"{name}.{key}", part, known, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _inside(f"{name}.{i}", part, known, depth - 1)
    elif depth and isinstance(value, dict):
        for key, part in value.items():
            yield from _inside(f"{name}.{key}", part, known, depth - 1)


def _looks_like_weights(value: Tensor) -> bool:
    """Whether a plain tensor of a module holds numbers as weights do, not those of a mask."""
    return value.is_floating_point() and value.ndim > 1 and bool(value.isfinite().all()) and value.unique().numel() > 4


def gradients(result: Any, function: Any, given: list[Any], kwargs: dict[str, Any]) -> dict[str, Tensor | None]:
    """Those of a fixed sum of the output, for every parameter and every input; None where none arrives."""
    out = result if isinstance(result, Tensor) else result[0]
    leaves: dict[str, Tensor] = dict(function.named_parameters()) if isinstance(function, nn.Module) else {}
    leaves = {name: p for name, p in leaves.items() if p.requires_grad}
    for i, tensor in enumerate((*given, *kwargs.values())):
        if isinstance(tensor, Tensor) and tensor.requires_grad:
            leaves[f"input {i}"] = tensor
    if not out.requires_grad:
        return dict.fromkeys(leaves)
    total = (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum()
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return dict(zip(leaves, found, strict=True))


def describe_result(result: Any) -> dict[str, Any]:
    """The output as a wire object; what cannot be one is named by its type."""
    if isinstance(result, Tensor):
        return {"kind": "tensor", "out": result.detach().clone()}
    if isinstance(result, (tuple, list)):
        parts = [part.detach().clone() if isinstance(part, Tensor) else None for part in _flat(result)]
        kinds = [type(part).__name__ for part in result]
        return {"kind": "tuple", "of": kinds, "nested": _nesting(result), "parts": parts}
    return {"kind": type(result).__name__}


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [inner for part in result for inner in _flat(part)]
    return [result]


def _nesting(result: Any) -> Any:
    return [_nesting(part) for part in result] if isinstance(result, (tuple, list)) else "Tensor"


def describe_error(error: BaseException, trace: Any = None) -> dict[str, Any]:
    """What was raised and where in the submission: the innermost of its lines."""
    line = None
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == FILENAME:
            line = tb.tb_lineno
        tb = tb.tb_next
    if isinstance(error, SyntaxError) and error.filename == FILENAME:
        line = error.lineno
    told: dict[str, Any] = {"type": type(error).__name__, "text": str(error)[:2000], "line": line}
    if trace is not None and trace.error_source is not None:
        told["line"] = trace.error_source.line
    if trace is not None and trace.explanation is not None:
        told["explained"] = {lang: list(trace.explanation.parts(lang)) for lang in ("en", "zh")}
    return told
