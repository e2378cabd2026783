"""A submission judged in this process: the executor and the grader, without a sandbox. For own code only."""

from typing import Any, NamedTuple

from core.judge._cases import Draw
from core.judge._examine import Examination
from core.judge._executor import Executor
from core.judge._subject import Subject
from core.judge.diagnose import Finding, diagnose
from core.pitfalls import reference


class Here:
    """A session without a process."""

    def __init__(self) -> None:
        self._executor = Executor()

    def ask(self, request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        return self._executor.handle(request)


class Judged(NamedTuple):
    exam: Examination
    findings: list[Finding]

    @property
    def passed(self) -> bool:
        return self.exam.passed

    @property
    def ids(self) -> set[str]:
        return {finding.pitfall for finding in self.findings}

    @property
    def failed(self) -> list[str]:
        return [check.id for check in self.exam.checks if not check.passed]


def judge_here(problem: str, source: str, *, seed: int = 0) -> Judged:
    exam = Examination(Subject(Here(), reference(problem), Draw(seed)), problem)
    exam.run(source)
    return Judged(exam, diagnose(exam, source))
