"""The source that runs, function under function, with the sub-expression of one step marked."""

import ast
import html
import re
import textwrap

from core.trace import Source, Step, Trace

_NEAR = 3  # lines round the step that stay where room is scarce
# A comment that only writes down a shape: the walk shows the shape that was measured.
_WRITTEN_SHAPE = re.compile(r"\s+# \([\w, ·]+\)$")


def listing(trace: Trace, step: Step) -> str:
    """HTML of all functions of the trace, each once: real line numbers, the step's lines lit, its expression marked.

    The lines of the calls that lead to the step are lit too, more faintly.
    """
    return f'<div class="hw-code">{"<hr>".join(_function(source, step) for source in _functions(trace))}</div>'


def _functions(trace: Trace) -> list[Source]:
    """The functions that the steps stand in, in the order they are entered; an inner one goes with its outer."""
    found: dict[tuple[str, int], Source] = {}
    for step in trace:
        for source in (*reversed(step.callers), step.source):
            if source.function_text and not any(_holds(outer, source) for outer in found.values()):
                found[source.filename, source.first_line] = source
    return list(found.values())


def _holds(outer: Source, inner: Source) -> bool:
    """Whether `inner`'s place lies in the text of the function that `outer` stands in."""
    last = outer.first_line + len(outer.function_text.splitlines()) - 1
    return outer.filename == inner.filename and outer.first_line <= inner.line <= last


def _function(source: Source, step: Step) -> str:
    lines = source.function_text.splitlines()
    rows = [_row(line, source.first_line + i, source, step) for i, line in enumerate(lines)]
    tree = _function_in(textwrap.dedent(source.function_text))
    if tree is None:  # a lambda's line: shown whole
        return "".join(rows)
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    signature = f'<div class="hw-def"><s></s><span>def {html.escape(tree.name)}(…):</span></div>'
    return signature + "".join(rows[body[0].lineno - 1 :])


def _function_in(text: str) -> ast.FunctionDef | None:
    """The function that the text is, if it is one."""
    try:
        first, *_ = ast.parse(text).body or [None]
    except SyntaxError:
        return None
    return first if isinstance(first, ast.FunctionDef) else None


def _row(line: str, number: int, source: Source, step: Step) -> str:
    def stands_in(at: Source) -> bool:
        return at.filename == source.filename and at.line <= number <= at.end_line

    far = not _holds(source, step.source) or not step.source.line - _NEAR <= number <= step.source.end_line + _NEAR
    lit = ' class="hw-far"' if far else ""
    if stands_in(step.source):
        lit = ' class="hw-lit" aria-current="step"'
    elif any(stands_in(caller) for caller in step.callers):
        lit = ' class="hw-calls"'
    text = _marked(line, number, step.source) if stands_in(step.source) else _toned(line)
    first_indent = len(source.function_text) - len(source.function_text.lstrip())
    depth = max(len(line) - len(line.lstrip()) - first_indent, 0)
    return f'<div{lit} style="--in:{depth}ch"><s>{number}</s><span>{text.lstrip() or "&nbsp;"}</span></div>'


def _marked(line: str, number: int, at: Source) -> str:
    """The line as HTML, the part that belongs to the step inside <mark>."""
    start = at.col if number == at.line else len(line) - len(line.lstrip())
    end = at.end_col if number == at.end_line else len(line.rstrip())
    return f"{html.escape(line[:start])}<mark>{html.escape(line[start:end])}</mark>{_toned(line[end:])}"


def _toned(text: str) -> str:
    """The text as HTML, a closing comment toned down."""
    code, sign, comment = _WRITTEN_SHAPE.sub("", text).partition("# ")
    return f"{html.escape(code)}<em>{html.escape(sign + comment)}</em>" if sign else html.escape(code)
