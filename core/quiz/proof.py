"""Running the proof of a question.

The snippets are this repository's own data, reviewed like its code: they are run with `exec` in a namespace made for
the run, in this process, without a sandbox. Nothing that a user typed ever comes here.

A snippet finds `torch`, `nn`, `F`, `math` and three helpers: ``randn(*shape)``, the same numbers in every run (float32,
from a generator of its own), and `same` and `outcome` of ``compare.py``.
"""

import ast
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from core.errors import BadInput
from core.quiz.compare import family, outcome, plain, same, shown
from core.quiz.schema import Claim, Question


@dataclass(frozen=True)
class ProofResult:
    """What came of a run: `output` is its transcript as an interpreter shows it, each value the one computed now;
    `truths` says of each option (``"answer"`` where there are none) whether the run bears it out; `faults` is empty
    when the key is right and every other option is wrong; `seconds` is the time it took.
    """

    output: str
    truths: Mapping[str, bool]
    faults: tuple[BadInput, ...]
    seconds: float

    @property
    def proved(self) -> bool:
        return not self.faults


def run_proof(question: Question) -> ProofResult:
    """Run the proof of `question` now and hold every answer against what it gave. Never raises for a bad proof."""
    started = time.perf_counter()
    run = _Run(question)
    if run.problem is None:
        run.judge()
    faults = tuple(run.faults if run.problem is None else [run.problem])
    output = "\n".join(run.transcript)
    return ProofResult(output, MappingProxyType(run.truths), faults, time.perf_counter() - started)


class _Raised(NamedTuple):
    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


class _Run:
    """One run: its namespace, its transcript, and its result or the problem that kept it from having one."""

    def __init__(self, question: Question) -> None:
        self.claims = question.claims()
        self.names = _namespace()
        self.transcript: list[str] = []
        self.truths: dict[str, bool] = {}
        self.faults: list[BadInput] = []
        self.problem: BadInput | None = None
        self.result: Any = None
        for part in ("given", "code", "proof"):
            steps = ast.parse(getattr(question, part)).body
            for step in steps:
                source = _lines(getattr(question, part), step)
                raised = self._step(step, source, is_shown=part == "proof")
                if raised:
                    # a run may end in an exception that is asked about, and only there
                    meant = part != "given" and step is steps[-1] and self._some_claim_an_exception()
                    if not meant:
                        self.problem = BadInput("quiz.proof-raised", part=part, number=step.lineno, detail=str(raised))
                    return

    def _step(self, step: ast.stmt, source: str, is_shown: bool) -> _Raised | None:
        try:
            if isinstance(step, ast.Expr):
                self.result = eval(compile(ast.Expression(step.value), "<proof>", "eval"), self.names)
                value = "" if self.result is None else shown(self.result)
            else:
                exec(compile(ast.Module([step], []), "<proof>", "exec"), self.names)
                value = ""
        except Exception as error:  # noqa: BLE001 (whatever the snippet raises is its outcome)
            self.result = error
            self._echo(source, str(_Raised(error)))
            return _Raised(error)
        if is_shown:
            self._echo(source, value)
        return None

    def _echo(self, source: str, value: str) -> None:
        first, *rest = source.split("\n")
        self.transcript += [f">>> {first}", *(f"... {line}" for line in rest)]
        if value:
            self.transcript.append(value)

    def _some_claim_an_exception(self) -> bool:
        claims = (claim for claim in self.claims.values() if claim.compares and not claim.may_raise)
        return any(family(self._value(claim.expression)) == "exception" for claim in claims)

    def _value(self, expression: str) -> Any:
        try:
            # a copy: one option must not see the names that another binds
            return eval(compile(expression, "<claim>", "eval"), dict(self.names))
        except Exception as error:  # noqa: BLE001 (the caller says what a raising claim means)
            return _Raised(error)

    def judge(self) -> None:
        """Find the truth of every claim, and what is wrong with the key."""
        for option, claim in self.claims.items():
            truth = self._truth(option, claim)
            if truth is None:
                continue
            self.truths[option] = truth
            if truth != claim.keyed:
                code = "key-not-true" if claim.keyed else "distractor-true"
                self._fault(code, option, claim, result=shown(self.result, 200))

    def _fault(self, code: str, option: str, claim: Claim, **params: object) -> None:
        self.faults.append(BadInput(f"quiz.{code}", option=option, claim=claim.expression, **params))

    def _truth(self, option: str, claim: Claim) -> bool | None:
        value = self._value(claim.expression)
        if isinstance(value, _Raised):
            if claim.may_raise and not isinstance(value.error, NameError):
                self._echo(claim.expression, str(value))
                return False
            self._fault("claim-raised", option, claim, detail=str(value))
            return None
        if not claim.compares:
            if isinstance(plain(value), bool):
                return plain(value)
            self._fault("claim-not-bool", option, claim, value=shown(value, 200))
            return None
        families = {family(plain(value)), family(plain(self.result))}
        if len(families) > 1 and "exception" not in families:
            self._fault("claim-of-another-type", option, claim, result=shown(self.result, 200))
            return None
        truth = same(value, self.result, claim.tolerance)
        if claim.may_raise and families == {"tensor"}:
            self._echo(f"same({claim.expression}, _)", str(truth))
        return truth


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


def _lines(source: str, step: ast.stmt) -> str:
    return "\n".join(source.split("\n")[step.lineno - 1 : step.end_lineno])
