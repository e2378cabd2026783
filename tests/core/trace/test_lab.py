"""Typed chains are parsed, never evaluated, and do what torch does."""

import contextlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import LANGS, BadInput
from core.trace import lab


@pytest.mark.parametrize(
    ("shape", "chain", "by_torch"),
    [
        ((2, 3, 8), "view(2, 3, 4, 2).transpose(1, 2)", lambda x: x.view(2, 3, 4, 2).transpose(1, 2)),
        ((2, 3, 8), ".permute(2, 0, 1)[0].contiguous()", lambda x: x.permute(2, 0, 1)[0].contiguous()),
        ((4, 6), "chunk(3, dim=-1)[1]", lambda x: x.chunk(3, dim=-1)[1]),
        ((4, 6), "[:, 1:5:2].T.reshape(-1)", lambda x: x[:, 1:5:2].T.reshape(-1)),
        ((4, 1), "expand(2, 4, 3).unsqueeze(dim=0)", lambda x: x.expand(2, 4, 3).unsqueeze(dim=0)),
        ((2, 6), "unflatten(1, (2, 3)).mT[..., None]", lambda x: x.unflatten(1, (2, 3)).mT[..., None]),
        ((2, 2), "repeat(1, 2).repeat_interleave(2, dim=0)", lambda x: x.repeat(1, 2).repeat_interleave(2, dim=0)),
        ((), "unsqueeze(0)", lambda x: x.unsqueeze(0)),
        ((3, 4), "", lambda x: x),
    ],
)
def test_stages_are_torchs(shape, chain, by_torch) -> None:
    trace = lab.run(shape, chain)
    expected = by_torch(torch.arange(torch.Size(shape).numel()).view(shape))
    assert torch.equal(trace.result, expected)
    if chain:
        assert trace[-1].output.stride == expected.stride()
        assert trace[-1].output.is_contiguous == expected.is_contiguous()


def test_what_torch_refuses_is_told_by_the_step_that_raised() -> None:
    trace = lab.run((2, 3, 8), "view(2, 3, 4, 2).transpose(1, 2).view(2, 24)")
    with pytest.raises(RuntimeError) as by_torch:
        torch.zeros(2, 3, 4, 2).transpose(1, 2).view(2, 24)
    assert str(trace.error) == str(by_torch.value)
    assert all(trace[-1].explanation.parts(lang) for lang in LANGS)


@pytest.mark.parametrize(
    "chain",
    [
        "sum()",
        "__class__",
        "T.__init__.__globals__",
        "view(a)",
        "view(*[1])",
        "view(**{'a': 1})",
        "view(True)",
        "view(1.5)",
        "view(10**9)",
        "view(open('x'))",
        "view(2, 3) + 1",
        "(lambda: 1)()",
        "numpy()",
        "data",
        "apply_(print)",
        "view(2, 3, out=1)",
        "transpose(dim0=0, evil=1)",
        "[[0, 1].append(2)]",
        "['a']",
        "[0",
        "x;import os",
        "\x00",
        "(" * 300,
        "[0" * 100,
        "a" * 500,
        "T." * 13 + "T",
    ],
)
def test_what_is_not_on_the_list_is_refused(chain: str) -> None:
    with pytest.raises(BadInput):
        lab.run((2, 3), chain)


@pytest.mark.parametrize(
    ("shape", "chain"),
    [
        ((2, 3), "repeat(9999, 9999)"),
        ((2, 3), "expand(1000000, 2, 3)"),
        ((64, 64), "repeat(1, 2)"),
        ((2, 3), "as_strided((100, 100), (1, 1))"),
        ((64, 64), "chunk(1)[0].unsqueeze(0).expand(2, 64, 64)"),
    ],
)
def test_a_large_result_is_refused_before_it_is_made(shape: tuple[int, ...], chain: str) -> None:
    with pytest.raises(BadInput) as caught:
        lab.run(shape, chain)
    assert caught.value.code == "trace.lab-too-large"
    assert lab.run((64, 64), "T").error is None  # just small enough


@pytest.mark.parametrize(
    ("text", "shape"),
    [("2, 5, 16", (2, 5, 16)), ("(2,5)", (2, 5)), ("torch.Size([7])", (7,)), ("", ()), ("0, 3", (0, 3)), ("3,", (3,))],
)
def test_shapes_as_people_write_them(text: str, shape: tuple[int, ...]) -> None:
    assert lab.parse_shape(text) == shape


@pytest.mark.parametrize("text", ["2;3", "-1", "a, b", "2, , 3", "1e3", "99999, 99999", "1,1,1,1,1,1,1", "²"])
def test_no_shape(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        lab.parse_shape(text)
    assert all(part for lang in LANGS for part in caught.value.parts(lang))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_run_or_refused_in_words(text: str) -> None:
    for attempt in (lambda: lab.run((2, 3), text), lambda: lab.parse_shape(text)):
        with contextlib.suppress(BadInput):
            attempt()
