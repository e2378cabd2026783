"""Broken implementations to repair, drawn by a number that a link can carry. No Streamlit here."""

import difflib
import io
import random
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from core import pitfalls
from core.errors import BadInput
from core.judge.problems import problem
from core.judge.unseen import UNSEEN
from core.pitfalls import Entry, Form

NAMINGS: tuple[Mapping[str, str], ...] = (
    {},
    {"w_qkv": "qkv_proj", "w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "o_proj", "scores": "logits",
     "attn": "probs", "d_h": "head_dim", "split": "to_heads"},
    {"w_qkv": "qkv", "w_q": "query", "w_k": "key", "w_v": "value", "w_o": "proj", "scores": "sim", "attn": "weights",
     "d_h": "d_k", "out": "y", "allowed": "visible"},
)  # fmt: skip
"""Names that people give to the same things; the first are the references' own."""
_TITLE = re.compile(r'\A"""(?:[^"]|"{1,2}(?!"))*"""\n+')


@dataclass(frozen=True)
class Task:
    """A broken implementation, `source`, of which `right` is the same without the mistakes of `entries`."""

    entries: tuple[Entry, ...]
    reference: str
    source: str
    right: str

    @property
    def lines(self) -> int:
        """How many lines the smallest repair touches."""
        return lines_changed(self.source, self.right)


@lru_cache(maxsize=64)
def draw(problem_id: str, seed: int, count: int) -> Task:
    """The task that `seed` stands for: `count` mistakes in one of the problem's solutions, in one of several styles.

    Raises BadInput for an unknown problem.
    """
    generator = random.Random(f"{problem_id} {count} {seed}")
    reference, entry, form = generator.choice(candidates(problem_id))
    entries, changes = (entry,), form.changes
    others = [other for other in candidates(problem_id) if other[0] == reference]
    for _, entry, form in generator.sample(others, len(others)):
        if len(entries) == count:
            break
        if entry not in entries and _fit(reference, (*changes, *form.changes)):
            entries, changes = (*entries, entry), (*changes, *form.changes)
    sources = pitfalls.change(reference, changes).source, pitfalls.reference(reference).source
    taken = {token.string for source in sources for token in _tokens(source)}
    naming = {old: new for old, new in generator.choice(NAMINGS).items() if new not in taken}
    commented = generator.random() < 0.5
    broken, right = (styled(source, naming, commented) for source in sources)
    return Task(tuple(sorted(entries, key=lambda entry: pitfalls.IDS.index(entry.id))), reference, broken, right)


@cache
def candidates(problem_id: str) -> tuple[tuple[str, Entry, Form], ...]:
    """(reference, mistake, its form) of every single mistake that is handed out. Raises BadInput as `draw`."""
    asked = problem(problem_id)
    return tuple(
        (reference, entry, form)
        for reference in (asked.reference, *asked.also)
        for entry, form in pitfalls.mistakes_in(reference)
        if f"{entry.id}/{form.name}" not in UNSEEN
    )


def _fit(reference: str, changes: tuple) -> bool:
    """Whether the changes can all be made in one source."""
    try:
        pitfalls.change(reference, changes)
    except BadInput:  # they overlap
        return False
    return True


def styled(source: str, naming: Mapping[str, str], commented: bool) -> str:
    """`source` under other names, and without what tells how it should be: its own comments, its demonstration.

    Docstrings stay, since they are the contract. With `commented`, comments behind code stay too: they give the shapes
    that the code has.
    """
    source = _TITLE.sub("", source.split("\nif __name__ ==")[0].rstrip() + "\n")
    lines = source.splitlines(keepends=True)
    tokens = _tokens(source)
    for i, token in reversed([*enumerate(tokens)]):
        row, column = token.start[0] - 1, token.start[1]
        line = lines[row] if row < len(lines) else ""
        behind = bool(line[:column].strip())
        if token.type == tokenize.COMMENT and not behind:
            lines[row] = ""
        elif token.type == tokenize.COMMENT and not commented:
            lines[row] = line[:column].rstrip() + "\n"
        elif token.type == tokenize.NAME and token.string in naming and not _foreign(tokens, i):
            lines[row] = line[:column] + naming[token.string] + line[token.end[1] :]
    return "".join(lines)


def _foreign(tokens: Sequence[tokenize.TokenInfo], i: int) -> bool:
    """Whether the name at `i` is an attribute of something else than self, such as `Tensor.split`."""
    return i > 1 and tokens[i - 1].string == "." and tokens[i - 2].string != "self"


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def lines_changed(before: str, after: str) -> int:
    """How many lines one has to touch to make `after` of `before`; empty ones, comments and ends of lines are none."""
    old, new = ([line for line in text.splitlines() if _counts(line)] for text in (before, after))
    parts = difflib.SequenceMatcher(None, [*map(str.rstrip, old)], [*map(str.rstrip, new)], autojunk=False)
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in parts.get_opcodes() if kind != "equal")


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def diff(before: str, after: str) -> str:
    """The changed lines as a diff without places."""
    rows = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(row for row in rows if not row.startswith(("---", "+++", "@@")))
