"""The source text of the standard answer, and where in it each step stands."""

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("standard_answer.py")


@cache
def standard_answer_source() -> str:
    """standard_answer.py as people read it, which is the text that runs."""
    return FILE.read_text(encoding="utf-8")


def step_lines(step_id: str) -> tuple[int, int]:
    """First and last line (from 1, both inclusive) of the step marked `# step_id: …`; KeyError if there is none.

    A step ends before the next marker, or where the code leaves its block.
    """
    return _all_step_lines()[step_id]


@cache
def _all_step_lines() -> dict[str, tuple[int, int]]:
    lines = standard_answer_source().splitlines()
    steps: dict[str, tuple[int, int]] = {}
    marker = re.compile(r"^( *)# (\w+): ")
    for number, line in enumerate(lines, start=1):
        found = marker.match(line)
        if not found:
            continue
        last = number
        for later, text in enumerate(lines[number:], start=number + 1):
            if marker.match(text) or (text.strip() and not text.startswith(found[1])):
                break
            last = later if text.strip() else last
        steps[found[2]] = (number, last)
    return steps
