"""``python -m core.quiz check [FOLDER]``: run every proof and check the bank; exit 0 when all is well, 1 when not."""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from core.errors import LANGS
from core.pitfalls import IDS
from core.quiz import generators
from core.quiz.bank import BANK, Bank, load_bank
from core.quiz.checks import DRAWS, check


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m core.quiz")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("check", help="run every proof and check the question files")
    command.add_argument("folder", nargs="?", type=Path, default=BANK, help="a folder of question files")
    folder = parser.parse_args(arguments).folder

    started = time.perf_counter()
    bank = load_bank(folder)
    faults = check(bank)
    for fault in faults:
        print(f"{os.path.relpath(fault.place.path.parent)}{os.sep}{fault.text()}")
    print(_summary(bank, len(faults), time.perf_counter() - started))
    return 1 if faults else 0


def _summary(bank: Bank, faults: int, seconds: float) -> str:
    questions = bank.questions
    about = Counter(pitfall for question in questions for pitfall in question.pitfalls)
    counts = {
        "kind": Counter(question.kind for question in questions),
        "topic": Counter(question.topic for question in questions),
        "level": Counter(question.level for question in sorted(questions, key=lambda one: one.level)),
        "language": dict.fromkeys(LANGS, len(questions)),  # the schema takes no question without both
        "pitfall": dict(sorted(about.items())),
    }
    lines = [f"{name:8} " + ", ".join(f"{key} {count}" for key, count in c.items()) for name, c in counts.items()]
    if bank.path == BANK.resolve():
        missing = [pitfall for pitfall in IDS if pitfall not in about]
        lines.append(
            f"pitfalls asked about: {len(IDS) - len(missing)} of {len(IDS)}" + "".join(f", not {m}" for m in missing)
        )
        lines.append(f"{len(generators.GENERATORS)} generators, {DRAWS} questions of each proved")
    verdict = f"{faults} faults" if faults else "all proved, no faults"
    return "\n".join([*lines, f"{len(questions)} questions in en and zh, {verdict} ({seconds:.1f} s)"])


if __name__ == "__main__":
    sys.exit(main())
