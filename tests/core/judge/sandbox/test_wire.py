"""What is packed comes back; bytes that nobody packed are a ValueError and nothing else."""

import json
import math
import struct
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save
from torch import Tensor

from core.judge.sandbox.wire import pack, unpack

DTYPES = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    shape = draw(st.lists(st.integers(0, 3), max_size=4))
    values = draw(st.lists(st.integers(-100, 100), min_size=math.prod(shape), max_size=math.prod(shape)))
    tensor = torch.tensor(values).reshape(shape).to(draw(st.sampled_from(DTYPES)))
    return tensor.transpose(0, -1) if shape and draw(st.booleans()) else tensor


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | tensors()
THINGS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def same(one: Any, two: Any) -> bool:
    if isinstance(one, Tensor):
        return isinstance(two, Tensor) and one.dtype == two.dtype and torch.equal(one, two)
    if type(one) is not type(two):
        return False
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    return one == two or (one != one and two != two)


@given(THINGS)
def test_it_comes_back(thing: Any) -> None:
    assert same(unpack(pack(thing)), thing)


def test_the_comparison_of_these_tests_can_fail() -> None:
    assert not same([torch.ones(2)], [torch.ones(2).double()])
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": [1]}, {"a": [1, 2]})


def test_what_has_no_sign_of_its_own_comes_back_too() -> None:
    leaf = torch.ones(2, requires_grad=True)
    thing = {"tensor": "0", "dict": {"tensor": leaf}, "t": (leaf, leaf.expand(3, 2)), "n": [math.nan, math.inf, -0.0]}
    back = unpack(pack(thing))
    assert back["tensor"] == "0"
    assert torch.equal(back["dict"]["tensor"], leaf)
    assert isinstance(back["t"], list)  # a tuple became a list
    assert back["t"][1].shape == (3, 2)
    assert math.isnan(back["n"][0])
    assert math.copysign(1, back["n"][2]) == -1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_stay(value: float) -> None:
    assert torch.equal(unpack(pack(torch.tensor([value]).half())).isnan(), torch.tensor([value]).isnan())
    assert torch.equal(unpack(pack(torch.tensor([value]))).isinf(), torch.tensor([value]).isinf())


@pytest.mark.parametrize(
    "thing",
    [
        *(b"bytes", {1, 2}, {1: 2}, object(), 1j, Exception()),
        torch.ones(2).to_sparse(),
        torch.ones(2, dtype=torch.complex128),
        {"a": [torch.nn.Linear(1, 1)]},
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_cannot_be_packed_is_refused(thing: Any) -> None:
    with pytest.raises(ValueError, match="cannot pack"):
        pack(thing)


def test_depth_is_limited_both_ways() -> None:
    deep: Any = 0
    for _ in range(64):
        deep = [deep]
    assert unpack(pack(deep)) == deep
    with pytest.raises(ValueError, match="deep"):
        pack([deep])
    for text in ("[" * 65 + "]" * 65, "[" * 100_000, '{"dict":{"a":' * 65 + "1" + "}}" * 65):
        with pytest.raises(ValueError):  # noqa: PT011 - which of its messages does not matter
            unpack(raw(text.encode()))


def raw(tree: bytes, stored: bytes | None = None) -> bytes:
    return struct.pack("<I", len(tree)) + tree + (save({}) if stored is None else stored)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        b"\xff\xff\xff\xff",
        raw(b""),
        raw(b"\xff"),
        raw(b"{}"),
        raw(b'{"tensor": "0"}'),
        raw(b'{"tensor": 0}', save({"0": torch.ones(1)})),
        raw(b'{"tensor": "0", "more": 1}', save({"0": torch.ones(1)})),
        raw(b'{"dict": {}, "more": 1}'),
        raw(b'{"dict": []}'),
        raw(b"[" + b"1" * 10_000 + b"]"),
        raw(b"1", b""),
        raw(b"1", b"\x80\x04cos\nsystem\n."),
        raw(b"1", save({"0": torch.ones(4)})[:-1]),
        raw(b"1", save({"0": torch.ones(4)}) + b"\0"),
        raw(b"1", struct.pack("<Q", 1 << 62) + b"{}"),
        raw(b"1", save({"0": torch.ones(4).to(torch.float8_e4m3fn)})),
    ],
    ids=range(18),
)
def test_what_was_not_packed_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - which of its messages does not matter
        unpack(data)


def stored(dtype: str, shape: list[int], offsets: list[int], data: bytes) -> bytes:
    header = json.dumps({"0": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}).encode()
    return struct.pack("<Q", len(header)) + header + data


def test_a_forged_bool_is_still_true_or_false() -> None:
    """A byte that is neither 0 nor 1 would be True and yet differ from True."""
    forged = unpack(raw(b'{"tensor": "0"}', stored("BOOL", [3], [0, 3], b"\x00\x01\x02")))
    assert torch.equal(forged, torch.tensor([False, True, True]))


@pytest.mark.parametrize(
    ("dtype", "shape", "offsets"),
    [
        ("F32", [2], [0, 4]),
        ("F32", [1 << 62, 4], [0, 4]),
        ("F32", [-1], [0, 4]),
        ("F32", [1], [0, 1 << 40]),
        ("F99", [1], [0, 4]),
        ("I64", [0, 1 << 62], [0, 4]),
    ],
)
def test_a_header_that_does_not_fit_is_refused(dtype: str, shape: list[int], offsets: list[int]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - which of its messages does not matter
        unpack(raw(b'{"tensor": "0"}', stored(dtype, shape, offsets, b"1234")))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_a_value_error(data: bytes) -> None:
    for attempt in (data, raw(data), raw(b'{"tensor": "0"}', data), raw(b"1", struct.pack("<Q", len(data)) + data)):
        try:
            unpack(attempt)
        except ValueError:
            continue


@given(st.data())
def test_packed_bytes_with_some_changed_are_an_object_or_a_value_error(data: st.DataObject) -> None:
    packed = bytearray(pack({"a": torch.ones(2, 3), "b": [torch.zeros(0, 2).long(), torch.ones(3) > 0, 1.5, None]}))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        unpack(bytes(packed))
    except ValueError:
        return
