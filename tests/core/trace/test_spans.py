"""The source of a step: the very sub-expression, and the variable its value is bound to."""

import torch
from torch import nn

from core.trace import record

X = torch.arange(24.0).reshape(2, 3, 4)

TEXT = '''import torch

def forward(x, w):
    """多头"""
    q, k = x.chunk(2, dim=-1); y = "注意力", q @ k.mT
    def split(t):
        return t.reshape(2, 3, 2).transpose(1, 2)
    q, k = split(q), split(k)
    scores = (q
              @ k.mT)
    a, b = scores
    self = type("", (), {})()
    self.out = scores + 1
    self.out += 1
    if (z := a * 2) is not None:
        pass
    r: object = k.repeat(1, 2, 1) if len(x) == 2 else k
    first, (second, third) = x[0], (x[1], -x)
    return torch.stack([t.exp() for t in (a, b)])
'''


def compiled(text=TEXT, filename="<answer>"):
    space = {}
    exec(compile(text, filename, "exec"), space)  # a string of our own
    return space["forward"]


def trace():
    result = record(compiled(), X, None, sources={"<answer>": TEXT})
    assert result.error is None
    return result


def test_each_step_marks_its_own_sub_expression():
    assert [(s.source.line, s.source.text) for s in trace()] == [
        (5, "x.chunk(2, dim=-1)"),
        (5, "k.mT"),
        (5, "q @ k.mT"),
        (7, "t.reshape(2, 3, 2)"),
        (7, "t.reshape(2, 3, 2).transpose(1, 2)"),
        (7, "t.reshape(2, 3, 2)"),
        (7, "t.reshape(2, 3, 2).transpose(1, 2)"),
        (10, "k.mT"),
        (9, "q\n              @ k.mT"),
        (11, "a, b"),
        (13, "scores + 1"),
        (14, "self.out += 1"),
        (15, "a * 2"),
        (17, "k.repeat(1, 2, 1)"),
        (18, "x[0]"),
        (18, "x[1]"),
        (18, "-x"),
        (19, "t.exp()"),
        (19, "t.exp()"),
        (19, "torch.stack([t.exp() for t in (a, b)])"),
    ]


def test_names_are_those_that_values_are_bound_to():
    assert [s.name for s in trace()] == [
        "q, k", None, None, None, "q", None, "k", None, "scores", "a, b", "self.out", "self.out", "z", "r",
        "first", "second", "third", None, None, None,
    ]  # fmt: skip


def test_columns_count_characters_not_bytes():
    lines = TEXT.splitlines()
    for step in trace():
        source = step.source
        if source.line == source.end_line:
            assert lines[source.line - 1][source.col : source.end_col] == source.text


def test_the_function_is_given_with_its_first_line():
    step = trace()[4]
    assert step.source.function == "forward.<locals>.split"
    assert step.source.first_line == 6
    assert step.source.function_text.splitlines()[step.source.line - step.source.first_line].strip() == (
        "return t.reshape(2, 3, 2).transpose(1, 2)"
    )
    assert step.callers[0].text == "split(q)"


def test_without_source_text_lines_remain():
    source = record(compiled(filename="<gone>"), X, None)[0].source
    assert (source.line, source.text, source.filename) == (5, "", "<gone>")


def test_text_that_is_not_the_compiled_one_does_no_harm():
    for text in ("x = (", "x = 1\n", ""):
        assert len(record(compiled(), X, None, sources={"<answer>": text}).steps) == 20


def test_module_calls_are_marked_where_the_user_wrote_them():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.w_q = nn.Linear(4, 4)
            self.rest = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x):
            q = self.w_q(x)
            return self.rest(q)

    trace = record(Block(), X)
    assert [(s.op, s.source.text, s.name) for s in trace] == [
        ("linear", "self.w_q(x)", "q"),
        ("linear", "self.rest(q)", None),
        ("relu", "self.rest(q)", None),
    ]
