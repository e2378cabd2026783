"""Grading: right is right in any spelling, wrong is wrong, and nothing that comes in does harm."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.quiz import OneChoice, SeveralChoices, TypeNumber, TypeShape, grade
from core.quiz.kinds import ADAPTER
from tests.core.quiz.samples import question, typed


def read(made: dict) -> Any:
    return ADAPTER.validate_python(made)


CHOICE: OneChoice = read(question())
SEVERAL: SeveralChoices = read(question(kind="several-choices", answer=["heads-meet", "raises"]))
SHAPE: TypeShape = read(typed("shape", answer=[2, 8, 10, 10]))
NUMBER: TypeNumber = read(typed("number", answer=131072, unit="bytes"))
RATIO: TypeNumber = read(typed("number", answer=0.125, unit="×", tolerance=0.01))
ALL = (CHOICE, SEVERAL, SHAPE, NUMBER, RATIO)

sizes = st.lists(st.integers(0, 10**9), max_size=6)
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=300),
    st.binary(),
    st.lists(st.one_of(st.text(max_size=20), st.integers(), st.none()), max_size=5),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    st.sets(st.text(max_size=5), max_size=3),
)


def verdict(asked, answer) -> bool | BadInput:
    """What comes of `answer`; any other exception goes through and fails the test."""
    try:
        return grade(asked, answer)
    except BadInput as error:
        return error


@given(anything)
def test_whatever_comes_in_gives_a_verdict_or_words(answer):
    for asked in ALL:
        found = verdict(asked, answer)
        assert isinstance(found, bool) or (all(found.parts("en")) and all(found.parts("zh")))


@given(st.text(alphabet="0123456789()[],. x×*/torchSize+-_eE（），", max_size=120))
def test_text_made_of_the_signs_of_answers_never_breaks_the_reader(answer):
    for asked in (SHAPE, NUMBER, RATIO):
        assert isinstance(verdict(asked, answer), (bool, BadInput))


@pytest.mark.parametrize(
    "answer",
    ["1" * 100_000, "(" * 100_000, "1," * 100_000, "1e" + "9" * 50, "١٢", "2" + " " * 98 + "x", [1] * 10_000],
)
def test_hostile_sizes_are_refused_at_once(answer):
    for asked in (SHAPE, NUMBER):
        found = verdict(asked, answer)
        assert found is False or len(str(found)) < 500


def test_one_choice():
    assert grade(CHOICE, "heads-meet") is True
    assert grade(CHOICE, "tokens-meet") is False
    for unreadable in ("nobody", "", None, 0, ["heads-meet"]):
        with pytest.raises(BadInput, match="one of the options is expected"):
            grade(CHOICE, unreadable)


@given(st.sets(st.sampled_from(["heads-meet", "tokens-meet", "raises"])))
def test_several_choices_needs_all_and_only_the_right_ones(chosen):
    for collection in (list, tuple, set, frozenset):
        assert grade(SEVERAL, collection(chosen)) == (chosen == {"heads-meet", "raises"})


def test_several_choices_refuses_what_is_no_list_of_options():
    with pytest.raises(BadInput, match="a list of options"):
        grade(SEVERAL, "heads-meet")
    with pytest.raises(BadInput, match="one of the options"):
        grade(SEVERAL, ["heads-meet", "nobody"])


@given(sizes, sizes)
def test_a_shape_is_right_in_every_spelling_and_only_that_shape(shape, other):
    asked = read(typed("shape", answer=shape))
    listed = ", ".join(map(str, shape))
    spellings = [shape, tuple(shape), f"({listed})", f"[{listed}]", f"torch.Size([{listed}])", f"（{listed}）"]
    if shape:
        spellings += [listed, " ".join(map(str, shape)), "x".join(map(str, shape)), f"({listed},)"]
    for spelling in spellings:
        assert grade(asked, spelling) is True, spelling
        assert grade(read(typed("shape", answer=other)), spelling) == (other == shape)


@pytest.mark.parametrize("answer", ["", "  ", ",", "two", "(2, 8", "2.5", "-2", "2,,8)", None, True, [2, True], [2.0]])
def test_what_is_no_shape_is_not_counted_as_a_mistake(answer):
    if answer in ("(2, 8", "2,,8)"):  # lenient about brackets and double commas
        assert grade(SHAPE, answer) is False
        return
    with pytest.raises(BadInput, match="a shape is expected"):
        grade(SHAPE, answer)


@given(st.integers(0, 10**12))
def test_an_integer_is_right_in_every_spelling_and_its_neighbour_is_wrong(number):
    asked = read(typed("number", answer=number))
    for spelling in (number, float(number), str(number), f"{number:,}", f" {number} ", f"+{number}", f"{number}.0"):
        assert grade(asked, spelling) is True, spelling
    if 0 < number < 10**8:
        assert grade(asked, number + 1) is False
        assert grade(asked, str(number - 1)) is False


@pytest.mark.parametrize(
    "answer",
    [
        "131072",
        "128 KiB",
        "2**17",
        "2^17",
        "128 * 1024",
        "0.125 MiB",
        "131,072",
        "131072 bytes",
        "131_072 BYTES",
        "1.31072e5",
        "１３１０７２",
    ],
)
def test_spellings_of_a_number_with_a_unit(answer):
    assert grade(NUMBER, answer) is True


@pytest.mark.parametrize("answer", ["1/8", "0.125", ".125", "0.125×", "0.125x", "0.125 倍", "0.1255"])
def test_spellings_of_a_ratio_within_its_tolerance(answer):
    assert grade(RATIO, answer) is True


def test_outside_the_tolerance_is_wrong():
    assert grade(RATIO, "0.1265") is False
    assert grade(RATIO, 8) is False


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "0,125",
        "1,31072",
        "1/0",
        "128 KiB tokens",
        "128 MFLOPs",
        "2**",
        "__import__('os')",
        "nan",
        "inf",
        math.nan,
        True,
        None,
    ],
)
def test_what_is_no_number_is_not_counted_as_a_mistake(answer):
    with pytest.raises(BadInput, match="a number is expected"):
        grade(NUMBER, answer)
