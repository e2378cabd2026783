"""Running a problem's example."""

from typing import Any

from core.judge.problems.schema import Problem
from core.pitfalls import REFERENCES


def run_example(problem: Problem) -> str:
    """What the example prints, run now with the reference in the place of a solution.

    Both are this repository's own code; nothing that a user typed ever comes here.
    """
    solution = REFERENCES[problem.reference]
    printed: list[str] = []
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(solution.source, solution.filename, "exec"), names)
    names["print"] = lambda *values: printed.append(" ".join(map(str, values)))
    exec(compile(problem.example, f"<example of {problem.id}>", "exec"), names)
    return "\n".join(printed)
