"""The caller's side: verdicts come back to who asked; whatever fails in between, there is a verdict and a next one."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.errors import LANGS
from core.judge.client import FailedKind, Judge, failed

ROOT = Path(__file__).parents[3]
WORKER = "tests.core.judge.sandbox.helpers"
RIGHT = "def f(x): return 2 * x"
SLEEPS = "import time\ntime.sleep({})\n" + RIGHT


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(WORKER, 5) as judge:
        yield judge


@pytest.fixture(scope="module")
def strict() -> Iterator[Judge]:
    """A judge that gives a verdict two seconds."""
    with Judge(WORKER, 2.0) as judge:
        judge.warm()
        yield judge


def exists(pid: int) -> bool:
    """Whether it still does, after a while in which it may end."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


def test_right_and_wrong(judge: Judge) -> None:
    assert judge.judge("double", RIGHT)["passed"]
    assert not judge.judge("double", "def f(x): return 3 * x")["passed"]


def test_options_go_to_the_grader(judge: Judge) -> None:
    assert judge.judge("double", "while True: pass", seconds=0.2)["stopped"] == "timeout"


def test_a_problem_is_prepared_once_for_all_its_graders(judge: Judge) -> None:
    prepared = [judge.judge(problem, RIGHT)["prepared"] for problem in ("one", "one", "cannot-be-prepared", "one")]
    assert [names.count("one") for names in prepared] == [1, 1, 1, 1]
    assert prepared[-1][-2:] == ["one", "cannot-be-prepared"]


def test_text_of_any_kind_goes_there_and_back(judge: Judge) -> None:
    verdict = judge.judge("double", f"print('汉字 \\u2028 \\ud800 {'x' * 5000}')\n{RIGHT}")
    assert verdict["passed"]
    assert verdict["printed"].startswith("汉字 \u2028 ")
    assert len(verdict["printed"]) > 5000


@pytest.mark.parametrize("problem", ["grader-crashes", "grader-raises"])
def test_a_grader_that_fails_is_said_to_have_failed(judge: Judge, problem: str) -> None:
    before = judge.judge("double", RIGHT)
    assert judge.judge(problem, RIGHT) == failed(problem, "judge-failed")
    after = judge.judge("double", RIGHT)
    assert after["passed"]
    assert after["worker"] == before["worker"]


def test_options_that_the_grader_does_not_know_fail_it_alone(judge: Judge) -> None:
    assert judge.judge("double", RIGHT, colour="red") == failed("double", "judge-failed")
    with pytest.raises(TypeError):
        judge.judge("double", RIGHT, colour=object())  # nothing for JSON
    assert judge.judge("double", RIGHT)["passed"]


def test_a_grader_that_takes_too_long_is_ended_with_its_child(strict: Judge) -> None:
    verdict = strict.judge("double", SLEEPS.format(3600), seconds=3600)
    assert verdict == failed("double", "timeout", 2.0)
    assert "2 s" in verdict["error"]["message"]["en"]
    after = strict.judge("double", RIGHT)
    assert after["passed"]
    if sys.platform == "linux":
        children = Path(f"/proc/{after['worker']}/task/{after['worker']}/children")
        for _ in range(500):
            if not children.read_text(encoding="ascii"):
                break
            time.sleep(0.01)
        assert children.read_text(encoding="ascii") == ""


def test_several_at_once_and_each_gets_its_own(judge: Judge) -> None:
    """More than the worker judges at once; slow ones do not hold up quick ones of others."""
    factors = [2, 3] * 6
    with ThreadPoolExecutor(12) as pool:
        verdicts = list(pool.map(lambda n: judge.judge("double", f"print({n})\ndef f(x): return {n} * x"), factors))
    assert [verdict["passed"] for verdict in verdicts] == [n == 2 for n in factors]
    assert [verdict["printed"] for verdict in verdicts] == [f"{n}\n" for n in factors]


def test_a_quick_one_overtakes_a_slow_one(judge: Judge) -> None:
    order = []

    def ask(name: str, source: str) -> None:
        judge.judge("double", source)
        order.append(name)

    slow = threading.Thread(target=ask, args=("slow", SLEEPS.format(2)))
    slow.start()
    ask("quick", RIGHT)
    slow.join()
    assert order == ["quick", "slow"]


def test_a_worker_that_was_killed_is_started_anew(strict: Judge) -> None:
    killed = strict.judge("double", RIGHT)["worker"]
    os.kill(killed, signal.SIGKILL)
    verdict = strict.judge("double", RIGHT)
    assert verdict["passed"]
    assert verdict["worker"] != killed


def test_a_worker_that_is_killed_at_work_is_asked_again(judge: Judge) -> None:
    worker = judge.judge("double", RIGHT)["worker"]
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(judge.judge, "double", SLEEPS.format(0.5))
        time.sleep(0.2)
        os.kill(worker, signal.SIGKILL)
        assert answer.result()["passed"]


def test_a_worker_that_cannot_start_is_a_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    with Judge("core.judge.no_such_worker") as judge:
        assert judge.judge("double", RIGHT) == failed("double", "judge-failed")
    assert "no_such_worker" in capfd.readouterr().err  # the reason is in the log


def test_the_worker_ends_when_it_is_closed_and_starts_again_when_asked() -> None:
    with Judge(WORKER) as judge:
        first = judge.judge("double", RIGHT)["worker"]
        judge.close()
        assert not exists(first)
        second = judge.judge("double", RIGHT)["worker"]
        assert second != first
    assert not exists(second)
    judge.close()  # nothing more


def test_the_worker_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    code = f"""if True:
        import time
        from core.judge.client import Judge
        judge = Judge({WORKER!r})
        print(judge.judge("double", {RIGHT!r})["worker"], flush=True)
        judge.judge("double", {SLEEPS.format(3600)!r}, seconds=3600.0)
    """
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout
        worker = int(client.stdout.readline())
        client.kill()
    assert not exists(worker)
    assert list(tmp_path.iterdir()) == []


def test_the_worker_has_little_of_the_environment_and_leaves_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission could read what the environment was at the start of its process, in memory."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("HEADWISE_TEST_TOKEN", "of the person")
        with Judge(WORKER, 2.0) as judge:
            verdict = judge.judge("double", "open('file', 'w').write('x')\n" + RIGHT)
            assert verdict["passed"]
            assert judge.judge("double", SLEEPS.format(3600), seconds=3600)["error"]["kind"] == "timeout"
            assert [path.name for path in Path(folder).glob("headwise-*/headwise-*")] == []
            if sys.platform == "linux":
                environment = Path(f"/proc/{verdict['worker']}/environ").read_bytes()
                assert b"PATH=" in environment
                assert b"TOKEN" not in environment
            os.kill(verdict["worker"], signal.SIGKILL)
        assert list(Path(folder).iterdir()) == []


def test_the_client_needs_no_torch() -> None:
    code = "import sys, core.judge.client; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_where_there_is_no_fork_threads_grade_and_children_are_fresh() -> None:
    with Judge("tests.core.judge.sandbox.threads") as judge:
        assert judge.judge("double", RIGHT)["passed"]
        assert judge.judge("double", "import os; os._exit(0)")["stopped"] == "exited"
        assert judge.judge("grader-raises", RIGHT) == failed("grader-raises", "judge-failed")


@pytest.mark.parametrize("kind", ["judge-failed", "timeout"])
def test_a_failure_is_a_verdict_like_others(kind: FailedKind) -> None:
    verdict = failed("mha", kind)
    assert verdict["error"]["kind"] == kind
    assert set(verdict["error"]["message"]) == set(LANGS)
    assert "{" not in "".join(verdict["error"]["message"].values())
    assert (verdict["passed"], verdict["checks"], verdict["findings"]) == (False, [], [])
