"""Judges a person's attention: right or wrong, and if wrong, which mistake it is, on which line, and how we know.

>>> from core.judge import judge
>>> verdict = judge("mha", source)                                                    # doctest: +SKIP
>>> verdict["passed"], [(f["pitfall"], f["line"], f["confidence"]) for f in verdict["findings"]]     # doctest: +SKIP
(False, [('merge-no-transpose', 24, 'proved')])

Right means: there are roles for the submission's own weights, whatever they are called and however they are laid out,
with which the reference gives its output, on inputs and weights that are drawn for this verdict; and it keeps to that
on other sizes, under masks, in half precision, in training, in chunks (`_examine` has the checks). The reference and
the catalogue of mistakes are `core.pitfalls`'s. A mistake is `proved` when it, made in the reference with the
submission's own weights, gives the submission's very output; when the submission is right once that step is changed;
or when a check shows it. Else it is `likely`. Where no mistake fits, `divergence` says from where on the numbers
differ.

The submission runs in a sandbox (`core.judge.sandbox` says what that holds back and what not). What it is graded by
never enters its process: the grader compares tensors. What only the submission can tell of itself, such as the names of
its parameters, it could lie about; the numbers it could not.

A `Verdict` is plain data, every text in both languages; `core.judge.told` has its form.
"""

from typing import cast

from core.judge.client import Judge
from core.judge.told import Verdict

__all__ = ["Judge", "Verdict", "judge"]


def judge(problem: str, source: str) -> Verdict:
    """One verdict, from a worker of its own. Whoever wants several keeps a `Judge`.

    Raises BadInput for an unknown problem.
    """
    from core.pitfalls import reference

    reference(problem)
    with Judge() as own:
        return cast(Verdict, own.judge(problem, source))
