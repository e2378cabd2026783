"""What surprises about these mistakes, shown by runs; and what an outcome tells."""

import doctest
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from core import pitfalls
from core.pitfalls import Case, Change
from core.trace import Step

SPLIT = "t.view(B, L, self.n_heads, self.d_h).transpose(1, 2)  # (B, H, L, d_h)"


def step_of(reference: str, name: str, *changes: tuple[str, str]) -> Step:
    """The last step of the first call whose result is called `name`, of the reference with changes."""
    changed = pitfalls.change(reference, [Change(right=right, wrong=wrong) for right, wrong in changes])
    steps = [step for step in pitfalls.walk(changed)[0].steps if step.name == name]
    return steps[-1]


def test_a_direct_view_has_the_layout_of_the_right_split_and_other_elements() -> None:
    """Shape, strides and contiguity are those of the right split once it is copied; what an axis means is not."""
    q = "q = self.w_q(x).view(B, L, self.n_heads, self.d_h).transpose(1, 2)"
    right = step_of("gqa", "q", (q, f"{q}.contiguous()")).outputs[0]
    wrong = step_of("gqa", "q", (q, "q = self.w_q(x).view(B, self.n_heads, L, self.d_h)")).outputs[0]
    assert (right.shape, right.stride, right.is_contiguous) == (wrong.shape, wrong.stride, wrong.is_contiguous)
    assert right.value is not None
    assert wrong.value is not None
    assert not torch.equal(right.value, wrong.value)
    assert torch.equal(right.value.flatten().sort().values, wrong.value.flatten().sort().values)
    assert [str(axis) for axis in right.axes] == ["B", "H", "L", "d_h"]
    assert any(axis.mixed for axis in wrong.axes)


def test_repeat_and_repeat_interleave_differ_in_their_elements_alone() -> None:
    right = step_of("gqa", "k").outputs[0]
    wrong = step_of("gqa", "k", ("k = k.repeat_interleave(G, dim=1)", "k = k.repeat(1, G, 1, 1)")).outputs[0]
    assert (right.shape, right.stride, right.is_contiguous) == (wrong.shape, wrong.stride, wrong.is_contiguous)
    assert right.value is not None
    assert wrong.value is not None
    assert not torch.equal(right.value, wrong.value)
    assert torch.equal(right.value[:, [0, 5]], wrong.value[:, [0, 5]])  # the first and the last head are the same


def test_with_one_kv_head_the_transposed_keys_are_contiguous_already() -> None:
    assert step_of("mqa", "k").outputs[0].is_contiguous
    assert not step_of("gqa", "q").outputs[0].is_contiguous


@pytest.mark.parametrize("sizes", [{"L": 1}, {"H": 1}])
def test_the_missing_contiguous_hides_where_an_axis_is_one(sizes: dict[str, int]) -> None:
    entry = pitfalls.entry("merge-view-noncontiguous")
    assert pitfalls.run(entry, Case(sizes=sizes)).shows == "same"
    assert pitfalls.run(entry, Case(sizes=dict.fromkeys(sizes, 2))).shows == "raises"


def test_pairs_of_mistakes_with_equal_numbers() -> None:
    """Only the source tells them apart."""
    mask = Case(mask="causal")
    for one, other, case in (
        ("scale-twice", "scale-no-sqrt", Case()),
        ("mask-multiplied", "mask-filled-with-zero", mask),
    ):
        first, second = (pitfalls.run(pitfalls.entry(id_), case) for id_ in (one, other))
        assert first.index == second.index
        assert first.found == pytest.approx(second.found, rel=1e-12)


def test_an_outcome_says_where() -> None:
    """The line that raised is a changed one; the place of the largest difference; the call that parts."""
    entry = pitfalls.entry("merge-view-noncontiguous")
    outcome, changed = pitfalls.run(entry), pitfalls.apply(entry)
    assert outcome.error_line == changed.lines[0].first
    assert "transpose(1, 2).view(" in changed.source.splitlines()[changed.lines[0].first - 1]

    numbers = pitfalls.run(pitfalls.entry("scale-missing"))
    assert numbers.index is not None
    assert numbers.found is not None
    assert numbers.expected is not None
    assert abs(numbers.found - numbers.expected) == numbers.difference

    later = pitfalls.run(pitfalls.entry("causal-ignores-cache"))
    assert (later.call, later.shape) == (1, (4, 7, 48))

    nothing = pitfalls.run(pitfalls.entry("mask-row-all-false-nan"), Case(mask="empty-row"))
    assert nothing.index is not None
    assert nothing.index[:2] == (0, 4)  # the last query of the first sample
    assert nothing.nan_share == 1 / 20

    cut = pitfalls.run(pitfalls.entry("graph-broken"))
    assert set(cut.gradients) == {"w_qkv.weight", "w_qkv.bias", "x"}

    saved = pitfalls.run(pitfalls.entry("cache-expanded"))
    assert saved.cache_bytes is not None
    assert saved.cache_bytes[1] == 2 * saved.cache_bytes[0]  # G = 2

    hidden = pitfalls.run(pitfalls.entry("mask-inverted"))
    assert (hidden.shows, hidden.difference) == ("same", 0.0)


def test_two_threads_do_not_mix() -> None:
    entries = [entry for entry in pitfalls.catalogue() if entry.forms[0].references[0] == "mha"][:24]

    def shown(entry: pitfalls.Entry) -> tuple:
        outcome = pitfalls.run(entry, entry.forms[0].runs[0].case)
        return outcome.shows, outcome.difference, outcome.error, outcome.gradients

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(shown, entries))
    alone = [shown(entry) for entry in entries]
    for entry, one, other in zip(entries, together, alone, strict=True):
        assert one[0] == other[0], entry.id
        assert one[2:] == other[2:], entry.id


def test_the_example_runs() -> None:
    assert doctest.testmod(pitfalls) == (0, 4)


def test_mistakes_of_a_reference() -> None:
    found = pitfalls.mistakes_in("sliding_window")
    assert {"window-off-by-one", "scale-missing"} <= {entry.id for entry, _ in found}
    assert all("sliding_window" in form.references for _, form in found)
    assert "mask-ignored" not in {entry.id for entry, _ in found}
