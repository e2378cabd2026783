"""A submission's text and runs, asked for places: lines, spans of nodes, where a weight was made."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from core.judge._roles import hinted
from core.judge.diagnose.tape import Span, Step, Tape

Steps = Iterable[Step]


class Places:
    """Finds lines, from a run without a mask (`plain`), one with a mask (`masked`), where the parameters were made
    (`born`: name → lines, innermost first) and the source."""

    def __init__(
        self, plain: Tape, masked: Tape, born: dict[str, list[int]], source: str, call: str,
        error: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.plain, self.masked, self.born, self.source, self.call = plain, masked or plain, born, source, call
        self.error = error
        self._lines = source.splitlines()

    def line(self, number: int | None) -> Span | None:
        """A whole line, without its indentation."""
        if number is None or not 1 <= number <= len(self._lines):
            return None
        text = self._lines[number - 1]
        return number, number, len(text) - len(text.lstrip()), len(text.rstrip())

    def failed(self) -> Span | None:
        """Where the first call raised."""
        step = next((s for s in reversed(self.plain.steps) if s.data["error"] and s.line > 0), None)
        return step.span if step else self.line(self.error["line"] if self.error else None)

    def first(self, *groups: Steps) -> Span | None:
        """The first step of the first group that has any, in the submission's own lines."""
        for group in groups:
            for step in group:
                if step.line > 0:
                    return step.span
        return None

    def last(self, *groups: Steps) -> Span | None:
        return self.first(*(list(group)[::-1] for group in groups))

    def returned(self) -> Span | None:
        """The last return of the function, or of the class's forward; where it has none, its head."""
        forward = self.forward()
        if forward is None:
            return None
        returns = [node for node in _own_nodes(forward) if isinstance(node, ast.Return)]
        if not returns:
            return self.line(forward.lineno)
        last = max(returns, key=lambda n: n.lineno)
        return node_span(last, self.source)

    def forward(self) -> ast.FunctionDef | None:
        """The function that was asked for, or the forward of the class."""
        try:
            tree = ast.parse(self.source)
        except SyntaxError:
            return None
        for node in ast.walk(tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == self.call:
                inside = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
                return next((n for n in inside if n.name in ("forward", self.call)), None)
        return None

    def condition(self, line: int) -> Span | None:
        """The test of the innermost `if` that the line stands under."""
        around = [
            node
            for node in ast.walk(ast.parse(self.source))
            if isinstance(node, ast.If) and node.body[0].lineno <= line <= (node.end_lineno or line)
        ]
        return node_span(max(around, key=lambda node: node.lineno).test, self.source) if around else None

    def made(self, *roles: str) -> Span | None:
        """The line on which the first parameter, whose name speaks of one of the roles, was made: the outermost one."""
        for name, lines in self.born.items():
            if lines and (not roles or hinted(name) & set(roles)):
                return self.line(lines[-1])
        return next((self.line(lines[-1]) for lines in self.born.values() if lines), None)


def node_span(node: ast.expr | ast.stmt, source: str) -> Span:
    """Where a node stands; ast counts columns in bytes, spans count characters."""
    lines = source.splitlines()
    end = node.end_lineno or node.lineno
    columns = [(node.lineno, node.col_offset), (end, node.end_col_offset or 0)]
    start, stop = (len(lines[line - 1].encode()[:column].decode(errors="ignore")) for line, column in columns)
    return node.lineno, end, start, stop


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
