"""A trace as data and back: it says the same of everything, and what no trace wrote is refused."""

import copy
import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from core.errors import BadInput
from core.judge.sandbox.wire import pack, unpack
from core.trace import Trace, record
from core.trace._shapes import MOST_ELEMENTS
from core.trace.portable import MOST_STEPS, dump, load
from tests.core.trace.test_axes import SIZES, STYLES, run

SOURCE = """\
def merged(x):
    B, H, L, d_h = x.shape
    y = x.transpose(1, 2)
    return y.view(B, L, H * d_h)
"""
FILENAME = "<answer>"


def refused(source: str = SOURCE) -> Trace:
    """The trace of a run that ends in an error, of code that stands in no file."""
    names: dict = {}
    exec(compile(source, FILENAME, "exec"), names)
    x = torch.arange(48.0).reshape(2, 2, 3, 4)
    return record(
        names["merged"], x, axes=["B H L d_h"], sizes={"H": 2}, keep_values=True, sources={FILENAME: source}
    )  # fmt: skip


def texts(trace: Trace) -> dict[str, str]:
    """The files that a trace stands in."""
    found = {}
    for step in trace:
        for source in (step.source, *step.callers):
            if source.filename not in found and source.filename != FILENAME:
                found[source.filename] = Path(source.filename).read_text(encoding="utf-8")
    return found


def state_facts(state):
    return (
        state.shape, state.stride, state.offset, state.dtype, state.storage, state.storage_size, state.requires_grad,
        state.name, state.is_parameter, state.is_contiguous, state.axes, [str(axis) for axis in state.axes],
        *(state.coordinates(name).tolist() for name in ("B", "L", "Lk", "H", "d_h", "d_model")),
        [state.origin(at) for at in ([0] * len(state.shape), [n - 1 for n in state.shape]) if state.numel],
    )  # fmt: skip


def facts(step):
    return (
        step.index, step.op, step.args, step.kind, step.names, step.name, step.bytes_moved, step.flops,
        step.live_bytes, step.source, step.callers, [state_facts(s) for s in (*step.inputs, *step.outputs)],
        type(step.error).__name__, str(step.error),
    )  # fmt: skip


def same(a, b):
    return a is b is None or (a is not None and b is not None and torch.equal(a.nan_to_num(), b.nan_to_num()))


@pytest.mark.parametrize("name", STYLES)
def test_a_trace_that_travelled_says_the_same(name):
    direct = run(STYLES[name], SIZES["generic"])
    there = load(json.loads(json.dumps(dump(direct))), sources=texts(direct))
    assert len(there) == len(direct) > 0
    for a, b in zip(direct, there, strict=True):
        assert facts(a) == facts(b)
    assert [state_facts(s) for s in direct.inputs.values()] == [state_facts(s) for s in there.inputs.values()]
    assert (there.peak_bytes, there.flops, there.bytes_moved) == (direct.peak_bytes, direct.flops, direct.bytes_moved)


def test_values_cross_the_border_of_the_sandbox_and_once_more():
    layer = nn.Linear(6, 6)
    direct = record(
        lambda x: layer(x).view(2, 3, 2, 3).transpose(1, 2).softmax(-1), torch.rand(2, 3, 6), keep_values=True
    )
    there = load(unpack(pack(dump(direct))), sources={})
    again = load(unpack(pack(dump(there))), sources={})
    for trace in (there, again):
        for a, b in zip(direct, trace, strict=True):
            assert all(
                same(x.value, y.value) for x, y in zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs), strict=True)
            )
    assert direct.steps[-1].outputs[0].value is not None
    assert not [key for key in json.dumps(dump(direct, values=False)).split('"') if key in ("value", "values")]


def test_a_run_that_raised_keeps_its_explanation_and_its_place():
    direct = refused()
    there = load(json.loads(json.dumps(dump(direct, values=False))), sources={FILENAME: SOURCE})
    assert facts(there[-1]) == facts(direct[-1])
    assert direct.explanation is not None
    assert there.explanation is not None
    assert there.error_source is not None
    assert direct.explanation.code == "trace.view-after-turn"
    for lang in ("en", "zh"):
        assert there.explanation.parts(lang) == direct.explanation.parts(lang)
    assert type(there.error).__name__ == "RuntimeError"
    assert str(there.error) == str(direct.error)
    assert there.error_source == direct.error_source
    assert there.error_source.line == 4
    assert there[-1].source.text == "y.view(B, L, H * d_h)"


def test_text_is_taken_from_the_reader_alone():
    data = dump(refused(), values=False)
    assert "transpose(1, 2)" not in json.dumps(data)
    assert load(data, sources={})[-1].source.text == ""
    with pytest.raises(ValueError, match="lines"):
        load(data, sources={FILENAME: "x = 1\n"})


def test_what_cannot_be_looked_at_is_not_sent():
    def many(x):
        for _ in range(MOST_STEPS + 1):
            x = x + 1
        return x

    for function, code in (
        (many, "trace.too-long"),
        (lambda x: x.expand(MOST_ELEMENTS + 1), "trace.too-large"),
        (lambda x: torch.zeros(MOST_ELEMENTS + 1)[:1] + x, "trace.too-large"),
    ):
        with pytest.raises(BadInput) as raised:
            dump(record(function, torch.zeros(1)))
        assert raised.value.code == code
        assert all(all(raised.value.parts(lang)) for lang in ("en", "zh"))


# What no trace wrote --------------------------------------------------------------------------------------------------

GOOD = dump(refused(), values=False)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner))


def paths(tree, at=()):
    """The place of everything in it."""
    yield at
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in pairs:
        yield from paths(inner, (*at, key))


PLACES = [place for place in paths(GOOD) if place]


def look_at_everything(trace):
    for step in trace:
        facts(step)


@given(anything)
@settings(max_examples=100, deadline=None)
def test_garbage_is_refused(thing):
    with pytest.raises(ValueError, match=r"."):
        load(thing, sources={})


@given(st.sampled_from(PLACES), anything | st.integers(-3, 40) | st.just(1 << 62))
@settings(max_examples=500, deadline=None)
def test_a_trace_that_was_tampered_with_is_refused_or_can_be_looked_at(place, thing):
    data = copy.deepcopy(GOOD)
    inside = data
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = thing
    try:
        trace = load(data, sources={FILENAME: SOURCE})
    except ValueError:
        return
    look_at_everything(trace)


@pytest.mark.parametrize(
    ("place", "thing"),
    [
        (("steps", 0, "outputs", 0, "tensor"), 99),
        (("steps", 0, "outputs", 0, "tensor"), -1),
        (("tensors", 0, "shape"), [1 << 30]),
        (("tensors", 0, "stride"), [1 << 20] * 4),
        (("tensors", 0, "dtype"), "load"),
        (("arrays", 0, "data"), "AAAA"),
        (("meanings", 0, "units"), []),
        (("places", 0, "line"), 9999),
        (("places", 0, "col"), 9999),
        (("steps", -1, "why", "code"), "judge.problem-unknown"),
        (("steps", -1, "why", "params"), {}),
        (("steps", -1, "why", "code"), "trace.no-such-words"),
        (("error", "type"), "a b"),
        (("steps", 0, "kind"), "other"),
        (("steps", 0, "values"), ["x"]),
    ],
)
def test_what_does_not_fit_is_refused(place, thing):
    data = copy.deepcopy(GOOD)
    inside = data
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = thing
    with pytest.raises(ValueError, match=r"."):
        load(data, sources={FILENAME: SOURCE})
