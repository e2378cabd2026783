"""The form of a verdict, plain data that goes through JSON. Every `Text` is in both languages."""

from typing import Literal, TypedDict

from core.errors import Lang

Text = dict[Lang, str]


class CheckTold(TypedDict):
    """One thing that was tried; `detail` says on what it failed and what came instead."""

    id: str
    passed: bool
    title: Text
    detail: Text | None


class FindingTold(TypedDict):
    """A mistake of the catalogue and where it stands: lines from 1 (0: nowhere), columns in characters from 0, the end
    one past the last. `proof` says how it is known; see `core.judge.diagnose.findings`."""

    pitfall: str
    line: int
    end_line: int
    col: int
    end_col: int
    confidence: Literal["proved", "likely"]
    proof: Literal["match", "edit", "check", "error", "trace"]
    message: Text


class ErrorTold(TypedDict):
    """What ended the submission before it could be looked at."""

    kind: str
    line: int | None
    message: Text


class StepTold(TypedDict):
    """A step of the first call; `shape` and `stride` of its first output, None where it raised."""

    op: str
    kind: Literal["view", "copy", "compute"]
    args: str
    line: int
    end_line: int
    col: int
    end_col: int
    text: str
    error: str | None
    shape: list[int] | None
    stride: list[int] | None


class Verdict(TypedDict):
    """What the judge says of one submission. `divergence` says from where on its numbers differ, where nothing was
    found; `printed` is what it wrote, cut; `seconds` what the verdict took."""

    problem: str
    passed: bool
    checks: list[CheckTold]
    findings: list[FindingTold]
    error: ErrorTold | None
    divergence: Text | None
    trace: list[StepTold]
    seconds: float
    printed: str
