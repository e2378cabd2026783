"""The inline mark-up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.markup import AXES, Segment, parse


def test_each_kind():
    assert parse("Call `view` on [[B 2|H_kv|Lq L|d_h 8]], **then** stop.") == (
        Segment("text", "Call "),
        Segment("code", "view"),
        Segment("text", " on "),
        Segment("shape", "B 2|H_kv|Lq L|d_h 8", (("B", "2"), ("H_kv", ""), ("Lq", "L"), ("d_h", "8"))),
        Segment("text", ", "),
        Segment("bold", "then"),
        Segment("text", " stop."),
    )


def test_marks_inside_code_are_code():
    assert parse("`a ** b` and `x[[0]]`") == (
        Segment("code", "a ** b"),
        Segment("text", " and "),
        Segment("code", "x[[0]]"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "an `open mark",
        "a **bold",
        "[[B|H",
        "B|H]]",
        "[[B|X]]",
        "[[b]]",
        "[[B  2]]",
        "[[B 2.5]]",
        "[[]]",
        "[[B|]]",
        "[[B -1]]",
        "it costs $1",
        "a * b",
        "a <b> c",
        "a \\ b",
    ],
)
def test_what_is_not_sound_is_refused(text):
    with pytest.raises(ValueError, match=r"without a partner|is not an axis"):
        parse(text)


@settings(deadline=None)
@given(st.text())
def test_text_is_kept_or_refused(text):
    try:
        segments = parse(text)
    except ValueError:
        assert any(mark in text for mark in ("`", "[[", "]]", "$", "*", "<", "\\"))
        return
    marks = {"text": ("", ""), "code": ("`", "`"), "bold": ("**", "**"), "shape": ("[[", "]]")}
    assert "".join(segment.text.join(marks[segment.kind]) for segment in segments) == text


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(AXES), st.one_of(st.just(""), st.integers(0).map(str))), min_size=1))
def test_any_shape_is_read_back(axes):
    shape = "|".join(f"{axis} {size}".strip() for axis, size in axes)
    (segment,) = parse(f"[[{shape}]]")
    assert segment.axes == tuple(axes)
