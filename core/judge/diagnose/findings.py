"""A pitfall located in a submission."""

from dataclasses import dataclass
from typing import Literal

from core.judge.diagnose.tape import Span


@dataclass(frozen=True)
class Finding:
    """`proof` says how we know: "match" (the catalogue's mistake, run on the submission's own weights, gives its very
    output), "edit" (run once more with that step changed, it is right), "check" (the check itself shows it), "error"
    (the same error at the same kind of step), "trace" (the run's steps show it)."""

    pitfall: str
    span: Span | None
    proof: Literal["match", "edit", "check", "error", "trace"]

    @property
    def confidence(self) -> str:
        return "likely" if self.proof in ("error", "trace") else "proved"
