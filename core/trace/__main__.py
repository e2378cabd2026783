r"""Prints the trace of a module or function in a file as a table.

    python -m core.trace FILE.py --class MultiHeadAttention --init 64 8 --input x=2x10x64 \
        --axes "x=B L d_model" --sizes H=8

The file is run, as `python FILE.py` would run it (with `__name__` set to its stem): trace only code that you would run.
Arguments are literals (`64`, `0.1`, `True`, `name=8`); inputs are random tensors of the given shape and dtype
(`x=2x10x64`, `mask=10x10:bool`, `ids=2x10:int`), the same ones each time.
"""

import argparse
import ast
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from core.errors import BadInput
from core.trace import Step, TensorState, Trace, record


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m core.trace", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="the Python file; it is run")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--class", dest="class_name", metavar="NAME", help="the module to make and call")
    target.add_argument("--function", metavar="NAME", help="the function to call")
    parser.add_argument(
        "--init", nargs="*", default=[], metavar="LITERAL", help="arguments that the module is made with"
    )
    parser.add_argument(
        "--input", nargs="*", default=[], metavar="[NAME=]SHAPE", help="inputs: 2x10x64, mask=10x10:bool"
    )
    parser.add_argument("--arg", nargs="*", default=[], metavar="NAME=LITERAL", help="other arguments of the call")
    parser.add_argument("--axes", nargs="*", default=[], metavar="[NAME=]AXES", help='what axes mean: "x=B L d_model"')
    parser.add_argument("--sizes", nargs="*", default=[], metavar="NAME=N", help="sizes of meanings: H=8 H_kv=2")
    parser.add_argument("--dispatch", action="store_true", help="show the operators under the hood (aten::…)")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="the language of explanations")
    options = parser.parse_args(argv)
    try:
        trace = run(options)
    except BadInput as error:
        parts = error.parts(options.lang)
        print(f"{parts.given}; {parts.expected}. {parts.action}", file=sys.stderr)
        return 2
    print(table(trace))
    explanation = trace.explanation
    if explanation is not None:
        print("\n" + "\n".join(explanation.parts(options.lang)))
    if trace.error is not None:
        print(f"\n{type(trace.error).__name__}: {trace.error}", file=sys.stderr)
    return 1 if trace.error is not None else 0


def run(options: argparse.Namespace) -> Trace:
    """The trace that the options ask for.

    Raises BadInput where the file, the name in it, a literal or a shape is not what is needed.
    """
    function = _target(options)
    inputs = [_named(text) for text in options.input]
    generator = torch.Generator().manual_seed(0)
    args = [_tensor(shape, generator) for name, shape in inputs if name is None]
    kwargs: dict[str, Any] = {name: _tensor(shape, generator) for name, shape in inputs if name is not None}
    kwargs |= {name or "": _literal(text) for name, text in map(_named, options.arg)}
    axes = [_named(text) for text in options.axes]
    by_name = {name: text for name, text in axes if name is not None}
    sizes = {name or "": _size(text) for name, text in map(_named, options.sizes)}
    return record(
        function,
        *args,
        axes=by_name or [text for _, text in axes],
        sizes=sizes,
        level="dispatch" if options.dispatch else "function",
        **kwargs,
    )


def _target(options: argparse.Namespace) -> Callable[..., Any]:
    space = _executed(options.file)
    mine = {n: v for n, v in space.items() if getattr(v, "__module__", None) == space["__name__"]}
    if options.function:
        found = mine.get(options.function)
        if not callable(found):
            raise BadInput("trace.nothing-to-trace", file=options.file, name=options.function, names=_names(mine))
        return found
    modules = {n: v for n, v in mine.items() if inspect.isclass(v) and issubclass(v, nn.Module)}
    name = options.class_name or (next(iter(modules)) if len(modules) == 1 else None)
    if name not in modules:
        raise BadInput("trace.nothing-to-trace", file=options.file, name=name or "nn.Module", names=_names(modules))
    given = [_named(text) for text in options.init]
    positional = [_literal(text) for name, text in given if name is None]
    return modules[name](*positional, **{n: _literal(t) for n, t in given if n is not None}).eval()


def _names(found: dict[str, Any]) -> str:
    return ", ".join(found) or "-"


def _executed(path: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise BadInput("trace.no-such-file", file=path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # as for a script: its neighbours can be imported
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return vars(module)


def _named(text: str) -> tuple[str | None, str]:
    """``x=2x10`` -> ``("x", "2x10")``; without a name, None."""
    name, equals, value = text.partition("=")
    return (name, value) if equals else (None, text)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise BadInput("trace.no-literal", text=text) from None


def _size(text: str) -> int:
    value = _literal(text)
    if not isinstance(value, int) or value < 1:
        raise BadInput("trace.no-literal", text=text)
    return value


def _tensor(text: str, generator: torch.Generator) -> torch.Tensor:
    shape, _, dtype = text.partition(":")
    try:
        sizes = [int(n) for n in shape.split("x")]
        if any(n < 0 for n in sizes) or dtype not in ("", "float", "double", "bool", "int"):
            raise ValueError
    except ValueError:
        raise BadInput("trace.no-shape", text=text) from None
    match dtype:
        case "bool":
            return torch.rand(sizes, generator=generator) < 0.75
        case "int":
            return torch.randint(0, 10, sizes, generator=generator)
        case "double":
            return torch.randn(sizes, generator=generator, dtype=torch.float64)
    return torch.randn(sizes, generator=generator)


def table(trace: Trace) -> str:
    """The trace as text, one line for each output of a step."""
    rows = [("", "line", "name", "operation", "kind", "shape", "stride", "meaning")]
    for step in trace:
        for k, out in enumerate(step.outputs or (None,)):
            rows.append(_row(step, k, out))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _row(step: Step, k: int, out: TensorState | None) -> tuple[str, ...]:
    first = k == 0
    names = step.names if len(step.names) == len(step.outputs) else (step.name,)
    operation = f"{step.op} {step.args}".strip() if first else ""
    operation = operation if len(operation) <= 40 else operation[:39] + "…"
    return (
        str(step.index) if first else "",
        str(step.source.line) if first else "",
        (names[k] if k < len(names) else None) or "",
        operation,
        ("error" if step.error else step.kind) if first else "",
        str(out.shape) if out else "",
        str(out.stride) if out else "",
        " ".join(map(str, out.axes)) if out else "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
