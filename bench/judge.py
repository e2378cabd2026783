"""python -m bench.judge: the judge on labelled submissions: verdicts, names, lines, and the time of a warm verdict.

Each is judged as the app does it: by a worker that is warm, in the sandbox, diagnosis and words included.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.measure import quantile_95
from core.judge import Judge

FOLDER = Path(__file__).parents[1] / "tests" / "core" / "judge"
MEDIAN_BUDGET, BUDGET_95 = 0.5, 1.0


def measure(folder: Path) -> list[bool]:
    """Print a table by problem, and the times beside their budgets."""
    labels = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    counts: Counter[tuple[str, str]] = Counter()
    times = []
    with Judge() as judge:
        for problem in dict.fromkeys(label["problem"] for label in labels):
            judge.judge(problem, "")  # builds what all verdicts on a problem share
        for label in labels:
            source = (folder / label["file"]).read_text(encoding="utf-8")
            start = time.perf_counter()
            verdict = judge.judge(label["problem"], source)
            times.append(time.perf_counter() - start)
            for what in told(label, verdict):
                counts[label["problem"], what] += 1
    columns = ("right", "passed", "wrong", "refused", "named", "all named", "fair line", "extra")
    print(f"{'':16}" + "".join(f"{column:>11}" for column in columns))
    for problem in dict.fromkeys(label["problem"] for label in labels):
        print(f"{problem:16}" + "".join(f"{counts[problem, column]:11}" for column in columns))
    median, slow = statistics.median(times), quantile_95(times)
    kept = [median <= MEDIAN_BUDGET, slow <= BUDGET_95]
    print(f"a warm verdict: median {median:.2f} s (budget {MEDIAN_BUDGET:g}){'' if kept[0] else '  OVER'}, "
          f"95 % within {slow:.2f} s (budget {BUDGET_95:g}){'' if kept[1] else '  OVER'}")  # fmt: skip
    return kept


def told(label: dict[str, Any], verdict: dict[str, Any]) -> list[str]:
    """The columns that a verdict counts in."""
    if label["verdict"] == "right":
        return ["right"] + ["passed"] * verdict["passed"] + ["extra"] * bool(verdict["findings"])
    found = {f["pitfall"]: f for f in verdict["findings"]}
    known = [found[id] for id in label["pitfalls"] if id in found]
    fair = known and all(any(f["line"] <= n <= f["end_line"] for n in label["lines"]) for f in known)
    return (
        ["wrong"] + ["refused"] * (not verdict["passed"]) + ["named"] * bool(known) + ["fair line"] * bool(fair)
        + ["all named"] * (len(known) == len(label["pitfalls"])) + ["extra"] * bool(found.keys() - label["pitfalls"])
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="the judge on labelled submissions")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER / "given", help="with labels.jsonl")
    measure(parser.parse_args().folder)
