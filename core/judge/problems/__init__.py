"""The coding tasks: what to write, from where to begin, hints, and what an interviewer asks next.

    problem("mha").title["zh"]           # words in both languages, with the mark-up of core.markup
    problem("mha").starter               # Python to begin with; its signature is the contract
    run_example(problem("mha"))          # what its example prints, run now with the reference

One file for each task, ``<id>.yaml``; the tasks and their order are those of `core.pitfalls.PROBLEMS`. A rule that
holds for several tasks stands in ``_rules.yaml`` and goes by its name. What follows from the rest is not written down:
the signature is the starter's, the solutions and the mistakes are those of `core.pitfalls`.

Only `run_example` imports torch.
"""

from core.judge.problems._example import run_example
from core.judge.problems._load import problem, problems
from core.judge.problems.schema import FollowUp, Problem, Source

__all__ = ["FollowUp", "Problem", "Source", "problem", "problems", "run_example"]
