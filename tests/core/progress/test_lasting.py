"""What was acknowledged lasts: through SIGKILL at any moment, and with many who write at once."""

import random
import subprocess
import sys
import threading
from collections import Counter

from core.progress import Store, open_store, schedule
from core.progress.schedule import Logged
from tests.architecture import ROOT
from tests.core.progress.samples import NOW, given


def answering(url: str, count: int, *names: str) -> subprocess.Popen[str]:
    """Processes that answer `count` times each, and say the id of each answer when it is kept."""
    command = [sys.executable, "-m", "tests.core.progress.answering", url, str(count), *names]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def assert_each_card_is_what_its_log_makes_of_it(store: Store) -> None:
    logs: dict[str, list[Logged]] = {}
    for answer in store.answers():
        logs.setdefault(answer.card, []).append(Logged(answer.at, answer.id, answer.rating))
    assert store.reviews() == {card: schedule.replay(log, None) for card, log in logs.items()}


def test_every_acknowledged_answer_is_there_after_the_process_was_killed(file_url: str) -> None:
    acknowledged: set[str] = set()
    chance = random.Random(0)
    for round_ in range(6):
        process = answering(file_url, 1_000_000, f"round {round_}")
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(chance.randrange(1, 25))]
        process.kill()
        said += process.stdout.read().split("\n")[:-1]  # whole lines alone: it may have died while it spoke
        process.wait()
        process.stdout.close()
        acknowledged.update(said)
        store = open_store(file_url)
        assert store.notices == ()
        there = {answer.id for answer in store.answers()}
        assert acknowledged <= there
        assert len(there - acknowledged) <= round_ + 1  # one a round may be kept and not yet said
        assert_each_card_is_what_its_log_makes_of_it(store)
        store.close()
    assert len(acknowledged) > 20  # else it shows nothing


def test_eight_processes_write_at_once(url: str) -> None:
    """From the very first moment, when the store is still to be made."""
    processes = answering(url, 10, *(f"process {number}" for number in range(8)))
    said = processes.communicate()[0].split()
    assert (processes.returncode, len(said)) == (0, 80)
    store = open_store(url)
    assert {answer.id for answer in store.answers()} == set(said)
    given_by = Counter(answer.given[0] for answer in store.answers() if isinstance(answer.given, list))
    assert list(given_by.values()) == [10] * 8
    assert_each_card_is_what_its_log_makes_of_it(store)
    store.close()


def test_two_threads_share_a_store(store: Store) -> None:
    """As two browser tabs do: they answer the same card, and read meanwhile."""
    problems: list[BaseException] = []

    def practise(name: str) -> None:
        try:
            for number in range(25):
                store.answer(given(at=NOW, given=[name, number]))
                assert len(store.answers()) > number
                store.save_draft("mha", f"{name} {number}")
                store.due(NOW)
        except BaseException as problem:  # noqa: BLE001 (a thread's own would be lost)
            problems.append(problem)

    threads = [threading.Thread(target=practise, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(store.answers()) == 50
    assert_each_card_is_what_its_log_makes_of_it(store)


def test_threads_share_a_store_in_memory() -> None:
    store = open_store("sqlite://")
    threads = [threading.Thread(target=store.answer, args=(given(given=number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {str(answer.given) for answer in store.answers()} == {str(number) for number in range(20)}
    store.close()
