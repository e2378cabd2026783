"""Runs the standard answer, and runs it again with a mistake put in, to see what the mistake does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.content._load import load_question
from core.content.schema import Effect, Pitfall
from core.content.standard_source import standard_answer_source
from core.errors import BadInput

if TYPE_CHECKING:
    from torch import Tensor, nn

SIZES = {"B": 2, "H": 4, "L": 6, "d_h": 8}
"""What the mistakes are tried on: all different, so that axes which are taken for one another show."""

_SAME = 1e-10  # float64: far above rounding, far below any mistake
_NAME = "standard_answer.py"


@dataclass(frozen=True)
class Run:
    """What came out of one forward pass with the mistake, beside the standard answer's with the same weights and x."""

    mask: Literal["plain", "causal"]
    effect: Effect
    error: str | None = None
    """The exception as Python prints its last line; then all below is None."""
    shape: tuple[int, ...] | None = None
    difference: float | None = None
    """The largest absolute difference, over the outputs that are not nan."""
    largest: float | None = None
    """The largest absolute value of the right output, to judge the difference by."""
    nan_share: float | None = None
    """The share of outputs that are nan."""


@dataclass(frozen=True)
class Outcome:
    """A pitfall as it ran."""

    pitfall: Pitfall
    source: str
    """The whole program with the mistake in it."""
    line: int
    """The line of the mistake in `source`, from 1."""
    right_line: str
    wrong_line: str
    runs: tuple[Run, Run]
    """Without a mask, and with a causal one."""


def run_standard_answer() -> str:
    """Run standard_answer.py as a script, the very text that is shown, and return what it prints."""
    printed: list[str] = []

    def collect(*values: object) -> None:
        printed.append(" ".join(map(str, values)))

    # A `print` of its own: redirecting stdout would catch what other threads print.
    exec(compile(standard_answer_source(), _NAME, "exec"), {"__name__": "__main__", "print": collect})
    return "\n".join(printed)


def demonstrate(pitfall_id: str) -> Outcome:
    """Put the pitfall into the standard answer and run both, in float64, on the same weights and the same x.

    Raises BadInput (a ValueError) for a pitfall that is not in the question.
    """
    pitfalls = {pitfall.id: pitfall for pitfall in load_question().pitfalls}
    if pitfall_id not in pitfalls:
        raise BadInput("content.unknown-pitfall", pitfall=pitfall_id, known=", ".join(pitfalls))
    pitfall = pitfalls[pitfall_id]
    right = standard_answer_source()
    start = right.index(pitfall.right)
    wrong = right[:start] + pitfall.wrong + right[start + len(pitfall.right) :]
    line = right.count("\n", 0, start) + 1
    return Outcome(
        pitfall=pitfall,
        source=wrong,
        line=line,
        right_line=right.splitlines()[line - 1].strip(),
        wrong_line=wrong.splitlines()[line - 1].strip(),
        runs=_compare(_module(right), _module(wrong)),
    )


def _module(source: str) -> Callable[[int, int], "nn.Module"]:
    namespace: dict[str, Any] = {"__name__": "standard_answer"}
    exec(compile(source, _NAME, "exec"), namespace)
    return namespace["MultiHeadAttention"]


def _compare(
    right_class: Callable[[int, int], "nn.Module"], wrong_class: Callable[[int, int], "nn.Module"]
) -> tuple[Run, Run]:
    import torch

    B, H, L, d_model = SIZES["B"], SIZES["H"], SIZES["L"], SIZES["H"] * SIZES["d_h"]
    generator = torch.Generator().manual_seed(0)
    right, wrong = right_class(d_model, H).double(), wrong_class(d_model, H).double()
    with torch.no_grad():
        for parameter in right.parameters():
            parameter.normal_(0, d_model**-0.5, generator=generator)
    wrong.load_state_dict(right.state_dict())
    x = torch.randn(B, L, d_model, generator=generator, dtype=torch.float64)
    causal = torch.ones(L, L, dtype=torch.bool).tril()
    return _run(right, wrong, x, None, "plain"), _run(right, wrong, x, causal, "causal")


def _run(
    right: "nn.Module",
    wrong: "nn.Module",
    x: "Tensor",
    mask: "Tensor | None",
    name: Literal["plain", "causal"],
) -> Run:
    import torch

    with torch.no_grad():
        expected = right(x, mask)
        try:
            out = wrong(x, mask)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            return Run(mask=name, effect="error", error=f"{type(error).__name__}: {error}")
    nan = out.isnan()
    difference = (out - expected)[~nan].abs().max().item()
    effect: Effect = "nan" if nan.any() else "same" if difference <= _SAME else "different"
    return Run(
        mask=name,
        effect=effect,
        shape=tuple(out.shape),
        difference=difference,
        largest=expected.abs().max().item(),
        nan_share=nan.double().mean().item(),
    )
