"""Broken solutions to repair: the same from the same number, wrong and right where they say so, in several styles."""

import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from core import pitfalls
from core.errors import BadInput
from core.judge import Judge
from core.judge.problems import problems
from core.judge.unseen import UNSEEN
from pages._ui.coding.debugging import NAMINGS, candidates, diff, draw, lines_changed, styled
from tests.architecture import ROOT

PROBLEMS = [one.id for one in problems()]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as started:
        yield started


@pytest.mark.parametrize("problem_id", PROBLEMS)
@pytest.mark.parametrize("count", [1, 2])
def test_a_number_stands_for_one_task(problem_id: str, count: int) -> None:
    tasks = [draw(problem_id, seed, count) for seed in range(1, 31)]
    draw.cache_clear()
    assert tasks == [draw(problem_id, seed, count) for seed in range(1, 31)]
    assert len({task.source for task in tasks}) > 10 or problem_id == "online_softmax"
    for task in tasks:
        compile(task.source, "<task>", "exec")
        compile(task.right, "<task>", "exec")
        assert len({entry.id for entry in task.entries}) == count
        assert 1 <= task.lines <= 16
        assert lines_changed(task.source, task.source) == 0


@pytest.mark.parametrize("problem_id", PROBLEMS)
def test_the_styles_are_right_without_the_mistakes(judge: Judge, problem_id: str) -> None:
    """Else a task could not be solved, or would have more mistakes than it says."""
    for name in {reference for reference, *_ in candidates(problem_id)}:
        source = styled(pitfalls.reference(name).source, NAMINGS[random.Random(name).randrange(1, 3)], commented=False)
        verdict = judge.judge(problem_id, source)
        assert verdict["passed"], (name, [check for check in verdict["checks"] if not check["passed"]], source)


@pytest.mark.parametrize(("problem_id", "seed", "count"), [("mha", 3, 1), ("gqa", 5, 2), ("kv_cache", 2, 1)])
def test_the_judge_sees_that_a_task_is_broken(judge: Judge, problem_id: str, seed: int, count: int) -> None:
    task = draw(problem_id, seed, count)
    assert not judge.judge(problem_id, task.source)["passed"]
    assert judge.judge(problem_id, task.right)["passed"]


@pytest.mark.parametrize("name", sorted(UNSEEN))
def test_what_no_verdict_sees_is_not_handed_out(name: str) -> None:
    entry, _, form = name.partition("/")
    changed = pitfalls.apply(pitfalls.entry(entry), form=form)
    assert all(f"{one.id}/{its.name}" != name for _, one, its in candidates(changed.reference.problem))


def test_nothing_in_a_task_tells_how_it_should_be() -> None:
    """The comments of a reference explain the right code; what stays are the contract and, at most, true shapes."""
    for seed in range(1, 31):
        task = draw("mha", seed, 1)
        assert '__name__ == "__main__"' not in task.source
        assert "whiteboard" not in task.source
        assert not [line for line in task.source.splitlines() if line.strip().startswith("#")]
    assert {("#" in draw("mha", seed, 1).right) for seed in range(1, 31)} == {True, False}


def test_names_are_changed_where_they_are_names() -> None:
    source = 'def f(self, q):\n    """split q"""\n    self.split = q.split(2)\n    return q.out, "out"\n'
    changed = styled(source, {"split": "cut", "out": "y"}, commented=True)
    assert changed == source.replace("self.split =", "self.cut =")


def test_a_comment_goes_and_the_code_stays() -> None:
    source = '"""Title."""\n\nx = "#"  # (B, L)\n# why\ny = 1\n\n\nif __name__ == "__main__":\n    print(x)\n'
    assert styled(source, {}, commented=False) == 'x = "#"\ny = 1\n'
    assert styled(source, {}, commented=True) == 'x = "#"  # (B, L)\ny = 1\n'


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ("a\nb\nc", 0),
        ("a\n\nb  \n# note\nc\n", 0),
        ("a\nB\nc", 1),
        ("a\nc", 1),
        ("a\nb\nb2\nc", 1),
        ("x\ny\nz\nw", 4),
    ],
)
def test_lines_that_one_has_to_touch(after: str, lines: int) -> None:
    assert lines_changed("a\nb\nc", after) == lines
    assert lines_changed(after, "a\nb\nc") == lines


def test_a_diff_shows_what_changes_alone() -> None:
    assert diff("a\nb\nc", "a\nB\nc") == "-b\n+B"


def test_an_unknown_problem_is_refused() -> None:
    with pytest.raises(BadInput):
        draw("no_such", 1, 1)


def test_the_room_needs_no_torch() -> None:
    """The judge has it in a process of its own; the page does not wait for it."""
    code = "from pages._ui.coding import debugging, view; debugging.draw('mha', 1, 2); import sys; "
    code += "print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False", run.stderr
