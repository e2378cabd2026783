"""Running the proof of a question.

The snippets are this repository's own data, reviewed like its code: they are run with `exec` in a namespace made for
the run, in this process, without a sandbox. Nothing that a user typed ever comes here but in the sandbox
(``filling.py``).

A snippet finds `torch`, `nn`, `F`, `math` and three helpers: ``randn(*shape)``, the same numbers in every run (float32,
from a generator of its own), and `same` and `outcome` of ``compare.py``.
"""

import ast
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

from core.errors import BadInput
from core.quiz.compare import family, outcome, plain, same, shown
from core.quiz.deadline import Late, deadline
from core.quiz.schema import Claim, Question, Steps, Trial

SECONDS = 30.0
"""What one question's proof may take; far more than any does, since the first may wait for parts of torch."""


class Shown(NamedTuple):
    """A transcript: `of` is ``""`` for the question's own run, else the name of the trial."""

    of: str
    output: str


@dataclass(frozen=True)
class ProofResult:
    """What came of a run: `runs` are its transcripts as an interpreter shows them, each value the one computed now;
    `truths` says of each option, or trial (``"answer"`` where there are none), whether the run bears it out; `faults`
    is empty when the key is right and every other answer is wrong; `seconds` is the time it took.
    """

    runs: tuple[Shown, ...]
    truths: Mapping[str, bool]
    faults: tuple[BadInput, ...]
    seconds: float

    @property
    def proved(self) -> bool:
        return not self.faults

    @property
    def output(self) -> str:
        """All transcripts, one under the other."""
        return "\n".join(run.output for run in self.runs if run.output)


def run_proof(question: Question, seconds: float = SECONDS) -> ProofResult:
    """Run the proof of `question` now and hold every answer against what it gave. Never raises for a bad proof.

    One that is not through after `seconds` is broken off.
    """
    _namespace()  # imports torch, which must not be broken off
    started = time.perf_counter()
    proving = _Proving(question)
    try:
        with deadline(seconds):
            proving.prove()
        faults = tuple(proving.faults)
    except Late:
        faults = (BadInput("quiz.proof-endless", seconds=f"{seconds:g}"),)
    spent = time.perf_counter() - started
    return ProofResult(tuple(proving.runs), MappingProxyType(proving.truths), faults, spent)


class Raised(NamedTuple):
    """An exception, the part of the proof that it came out of, and the innermost line there (1-based)."""

    error: Exception
    part: str
    line: int

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


class Run:
    """One run of `steps`: its names, its transcript, and its result, or what it raised."""

    def __init__(self, steps: Steps) -> None:
        self.names = _namespace()
        self.transcript: list[str] = []
        self.result: Any = None
        self.raised: Raised | None = None
        self.in_last = False  # whether what was raised came out of the last statement of its part
        for part, text in zip(Steps._fields, steps, strict=True):
            pieces = _pieces(part, text)
            for number, piece in enumerate(pieces, 1):
                if not self._step(piece, part):
                    self.in_last = number == len(pieces)
                    return

    def _step(self, piece: "_Piece", part: str) -> bool:
        """Whether `piece` came to its end."""
        try:
            if piece.is_expression:
                self.result = eval(piece.code, self.names)
                value = "" if self.result is None else shown(self.result)
            else:
                exec(piece.code, self.names)
                value = ""
        except Exception as error:  # noqa: BLE001 (whatever the snippet raises is its outcome)
            self.result, self.raised = error, Raised(error, part, _line(error, part) or piece.line)
            self.echo(piece.source, str(self.raised))
            return False
        if part == "proof":
            self.echo(piece.source, value)
        return True

    def echo(self, source: str, value: str) -> None:
        first, *rest = source.split("\n")
        self.transcript += [f">>> {first}", *(f"... {line}" for line in rest)]
        if value:
            self.transcript.append(value)

    def value(self, expression: str) -> Any:
        """What `expression` comes to after the run; `Raised` where it raises."""
        try:
            # a copy: one option must not see the names that another binds
            return eval(compile(expression, "<claim>", "eval"), dict(self.names))
        except Exception as error:  # noqa: BLE001 (the caller says what a raising claim means)
            return Raised(error, "claim", 1)


class _Proving:
    """A question's answers held against its runs; `faults` fills up on the way."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.claims = question.claims()
        self.runs: list[Shown] = []
        self.truths: dict[str, bool] = {}
        self.faults: list[BadInput] = []

    def prove(self) -> None:
        trials = list(self.question.trials())
        result: Any = None
        if self.claims or any(trial.compares for trial in trials):
            run = Run(self.question.steps())
            if self.question.tells_outcome:
                self._outcome(run)
            self.runs.append(Shown("", "\n".join(run.transcript)))
            if not self._ran(run):
                return
            result = run.result
            for option, claim in self.claims.items():
                self._hold(option, claim, run)
            self.runs = [Shown("", "\n".join(run.transcript))]  # claims may add to it
        for trial in trials:
            self._try(trial, result)

    def _outcome(self, run: Run) -> None:
        """Make the run's result how the code ended; whatever the proof behind it raises is a fault."""
        raised = run.raised
        if raised is None:
            if not self.question.proof:
                *_, last = _pieces("code", self.question.code)
                run.echo(last.source, "")
            run.result = (0, "")
        elif raised.part == "code":
            run.result, run.raised = (raised.line, type(raised.error).__name__), None

    def _ran(self, run: Run) -> bool:
        """Whether the run came to its end: it may end in an exception that is asked about, and only there."""
        raised = run.raised
        if raised and not (raised.part != "given" and run.in_last and self._some_claim_an_exception(run)):
            self.faults.append(BadInput("quiz.proof-raised", part=raised.part, number=raised.line, detail=str(raised)))
            return False
        return True

    def _some_claim_an_exception(self, run: Run) -> bool:
        claims = (claim for claim in self.claims.values() if claim.compares and not claim.may_raise)
        return any(family(run.value(claim.expression)) == "exception" for claim in claims)

    def _try(self, trial: Trial, result: Any) -> None:
        run = Run(trial.steps)
        if trial.shown:
            self.runs.append(Shown(trial.name, "\n".join(run.transcript)))
        if run.raised and run.raised.part == "given":
            self.faults.append(
                BadInput("quiz.proof-raised", part="given", number=run.raised.line, detail=str(run.raised))
            )
            return
        truth = not run.raised and (same(run.result, result) if trial.compares else plain(run.result) is True)
        self._told(trial.name, truth, trial.keyed, trial.says, run.result)

    def _told(self, name: str, truth: bool, keyed: bool, says: str, result: Any) -> None:
        self.truths[name] = truth
        if truth != keyed:
            code = "key-not-true" if keyed else "distractor-true"
            self.faults.append(BadInput(f"quiz.{code}", option=name, claim=says, result=shown(result, 200)))

    def _hold(self, option: str, claim: Claim, run: Run) -> None:
        truth = self._truth(option, claim, run)
        if truth is not None:
            self._told(option, truth, claim.keyed, claim.expression, run.result)

    def _fault(self, code: str, option: str, claim: Claim, **params: object) -> None:
        self.faults.append(BadInput(f"quiz.{code}", option=option, claim=claim.expression, **params))

    def _truth(self, option: str, claim: Claim, run: Run) -> bool | None:
        value = run.value(claim.expression)
        if isinstance(value, Raised):
            if claim.may_raise and not isinstance(value.error, NameError):
                run.echo(claim.expression, str(value))
                return False
            self._fault("claim-raised", option, claim, detail=str(value))
            return None
        if not claim.compares:
            if isinstance(plain(value), bool):
                return plain(value)
            self._fault("claim-not-bool", option, claim, value=shown(value, 200))
            return None
        families = {family(plain(value)), family(plain(run.result))}
        if len(families) > 1 and "exception" not in families:
            self._fault("claim-of-another-type", option, claim, result=shown(run.result, 200))
            return None
        truth = same(value, run.result, claim.tolerance)
        if claim.may_raise and families == {"tensor"}:
            run.echo(f"same({claim.expression}, _)", str(truth))
        return truth


class _Piece(NamedTuple):
    """A statement of a part, compiled."""

    source: str
    line: int
    is_expression: bool
    code: CodeType


@lru_cache(maxsize=64)  # the orders of one question's lines, tried one after the other, share their other parts
def _pieces(part: str, text: str) -> tuple[_Piece, ...]:
    name, pieces = f"<{part}>", []
    for step in ast.parse(text).body:
        is_expression = isinstance(step, ast.Expr)
        tree = ast.Expression(step.value) if isinstance(step, ast.Expr) else ast.Module([step], [])
        source = "\n".join(text.split("\n")[step.lineno - 1 : step.end_lineno])
        code = compile(tree, name, "eval" if is_expression else "exec")
        pieces.append(_Piece(source, step.lineno, is_expression, code))
    return tuple(pieces)


def _line(error: Exception, part: str) -> int | None:
    """The innermost line of `part` that `error` came through."""
    line, step = None, error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename == f"<{part}>":
            line = step.tb_lineno
        step = step.tb_next
    return line


def _namespace() -> dict[str, Any]:
    import torch
    from torch import nn
    from torch.nn import functional

    generator = torch.Generator().manual_seed(0)

    def randn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    return {
        "__name__": "proof",
        "torch": torch,
        "nn": nn,
        "F": functional,
        "math": math,
        "randn": randn,
        "outcome": outcome,
        "same": same,
    }
