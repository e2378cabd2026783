"""From a frame's position to the exact source sub-expression, and the name its value is bound to."""

import ast
import linecache
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

Position = tuple[int | None, int | None, int | None, int | None]  # line, end line, byte column, end byte column


@dataclass(frozen=True, slots=True)
class Source:
    """The sub-expression a step was written as.

    Lines count from 1, columns from 0 and in characters; `end_col` is one past the last. `text` is the
    sub-expression itself, `function` and `first_line` say in which function it stands (`first_line` is that of
    its first decorator or its `def`). Where no source text can be found, `text` is empty and columns are 0.
    """

    filename: str
    function: str
    first_line: int
    line: int
    col: int
    end_line: int
    end_col: int
    text: str
    function_text: str = ""  # the whole function, from first_line on, so that a page can mark the span in it


class Sources:
    """Finds source text: the texts handed over by the caller first, then `linecache`.

    Code compiled from a string has no file. Hand its text over by the file name it was compiled with
    (``sources={"<answer>": text}``), or put it in ``linecache.cache`` yourself.
    """

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})
        self._parsed: dict[str, Parsed | None] = {}
        self._found: dict[tuple[int, int], tuple[CodeType, Source]] = {}
        self._named: dict[tuple[int, int], tuple[CodeType, tuple[str | None, ...]]] = {}

    def text(self, filename: str) -> str:
        if filename not in self._texts:
            self._texts[filename] = "".join(linecache.getlines(filename))
        return self._texts[filename]

    def parsed(self, filename: str) -> "Parsed | None":
        """What the text of a file says, None where there is none. Once in a trace: looking it up hashes the text."""
        if filename not in self._parsed:
            text = self.text(filename)
            self._parsed[filename] = parsed(filename, text) if text else None
        return self._parsed[filename]

    def source(self, code: CodeType, lasti: int) -> Source:
        """The source of the instruction at `lasti` of `code`."""
        found = self._found.get((id(code), lasti))
        if found is None:
            found = self._found[id(code), lasti] = code, self._source(code, lasti)
        return found[1]

    def _source(self, code: CodeType, lasti: int) -> Source:
        at = position(code, lasti)
        text = self.parsed(code.co_filename)
        if text is not None:
            return text.source(code.co_qualname, code.co_firstlineno, at)
        return _line_only(code.co_filename, code.co_qualname, code.co_firstlineno, at)

    def names(self, stack: tuple[tuple[CodeType, int], ...]) -> tuple[str | None, ...]:
        """The variables that the value of the innermost call is bound to, one for each value unpacked.

        `stack` is innermost first. A value that a function returns at once carries the name it gets in the caller.
        """
        for code, lasti in stack:
            named = self._named.get((id(code), lasti))
            if named is None:
                named = self._named[id(code), lasti] = code, self._bound(code, lasti)
            if named[1] is not RETURNED:
                return named[1]
        return ()

    def _bound(self, code: CodeType, lasti: int) -> tuple[str | None, ...]:
        line, end_line, col, end_col = position(code, lasti)
        text = self.parsed(code.co_filename)
        if text is None or line is None or end_line is None or col is None or end_col is None:
            return ()
        return text.bound((line, col, end_line, end_col))


RETURNED: tuple[str | None, ...] = ("return",)


class Parsed:
    """What a text and its syntax tree say of its spans: how they read, which are bound to names, which are returned."""

    def __init__(self, filename: str, text: str) -> None:
        self._filename, self._lines = filename, text.splitlines()
        self._sources: dict[tuple[str, int, Position], Source] = {}  # no more than the text has expressions
        self._bound: dict[tuple[int, int, int, int], tuple[str | None, ...]] = {}
        self._functions: list[tuple[int, int]] = []
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[*_, target], value=value):
                    self._bind(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target, value):
                    self._bind(target, value)
                case ast.AugAssign(target=target):
                    self._bound[_span(node)] = (_written(target),)
                case ast.Return(value=ast.expr() as value) | ast.Lambda(body=value):
                    self._bound.setdefault(_span(value), RETURNED)
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                    self._functions.append((first, node.end_lineno or first))

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for part, its_value in zip(target.elts, value.elts, strict=True):
                    self._bind(part, its_value)
            else:
                names = tuple(map(_written, target.elts))
                self._bound[_span(value)] = self._bound[_span(target)] = names
        elif isinstance(value, ast.IfExp):
            self._bind(target, value.body)
            self._bind(target, value.orelse)
        elif isinstance(target, ast.Subscript):
            self._bound[_span(target)] = (_written(target),)  # an assignment to an element is a step of its own
        else:
            self._bound[_span(value)] = (_written(target),)

    def source(self, function: str, first: int, at: Position) -> Source:
        """The sub-expression at a position in a function that begins on line `first`."""
        found = self._sources.get((function, first, at))
        if found is None:
            found = self._sources[function, first, at] = self._source(function, first, at)
        return found

    def _source(self, function: str, first: int, at: Position) -> Source:
        _, _, col, end_col = at
        line, end_line = _lines_of(first, at)
        if col is None or end_col is None or end_line > len(self._lines):  # the file has changed since it was compiled
            return _line_only(self._filename, function, first, at)
        col, end_col = _characters(self._lines[line - 1], col), _characters(self._lines[end_line - 1], end_col)
        span = self._lines[line - 1 : end_line]
        span[-1] = span[-1][:end_col]
        span[0] = span[0][col:]
        whole = self._lines[first - 1 : self.function_end(first, end_line)]
        return Source(self._filename, function, first, line, col, end_line, end_col, "\n".join(span), "\n".join(whole))

    def bound(self, span: tuple[int, int, int, int]) -> tuple[str | None, ...]:
        return self._bound.get(span, ())

    def function_end(self, first: int, at_least: int) -> int:
        """The last line of the function that begins on line `first`."""
        return max([at_least, *(end for start, end in self._functions if start == first)])


@lru_cache(maxsize=128)
def parsed(filename: str, text: str) -> Parsed:
    return Parsed(filename, text)


def _lines_of(first: int, at: Position) -> tuple[int, int]:
    line = at[0] or first
    return line, at[1] or line


def _line_only(filename: str, function: str, first: int, at: Position) -> Source:
    line, end_line = _lines_of(first, at)
    return Source(filename, function, first, line, 0, end_line, 0, "")


def _span(node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _written(target: ast.expr) -> str | None:
    return None if isinstance(target, (ast.Tuple, ast.List, ast.Starred)) else ast.unparse(target)


def _characters(line: str, byte_column: int) -> int:
    """Python's tables count UTF-8 bytes; people and pages count characters."""
    return len(line.encode()[:byte_column].decode(errors="ignore"))


_tables: OrderedDict[int, tuple[weakref.ref[CodeType], list[Position]]] = OrderedDict()


def position(code: CodeType, lasti: int) -> Position:
    """The position of one instruction, from a table kept per code object (weakly, the latest 512)."""
    entry = _tables.get(id(code))
    if entry is None or entry[0]() is not code:
        entry = _tables[id(code)] = weakref.ref(code), list(code.co_positions())
        while len(_tables) > 512:
            try:
                _tables.popitem(last=False)
            except KeyError:  # another thread was faster
                break
    return entry[1][lasti // 2]
