"""Processes that answer, and say of each answer when it is kept: one for each NAME, COUNT answers each; given URL COUNT
NAMES.
"""

import os
import sys
from datetime import UTC, datetime

from core.progress import _opening  # before the processes part, which saves each the time
from tests.core.progress.samples import given


def answer(url: str, count: int, name: str) -> None:
    store = _opening.open_store(url)
    assert store.place, [str(notice) for notice in store.notices]
    for number in range(count):
        answer = given(f"card-{number % 3}", datetime.now(UTC), given=[name, number], right=number % 4 != 0)
        os.write(1, f"{store.answer(answer).answer_id}\n".encode())
    store.close()


def main(url: str, count: str, *names: str) -> int:
    processes = []
    for name in names:
        process = os.fork()
        if process == 0:
            try:
                answer(url, int(count), name)
            except BaseException as problem:  # noqa: BLE001 (nobody else would hear of it)
                os.write(2, f"{name}: {problem!r}\n".encode())
                os._exit(1)
            os._exit(0)
        processes.append(process)
    return sum(os.waitpid(process, 0)[1] != 0 for process in processes)


if __name__ == "__main__":
    if len(sys.argv) == 4:  # one alone is this process, so that who kills it kills the one that writes
        answer(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(main(*sys.argv[1:]))
