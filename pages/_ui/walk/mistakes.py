"""A mistake switched on: the reference, and the same code with the mistake in it, run and walked on one case.

No Streamlit here.
"""

from dataclasses import dataclass

from core import pitfalls
from core.pitfalls import Case, Changed, Entry, Outcome, Run
from core.trace import Step, Trace

SIZES = {"B": 2, "L": 5, "Lk": 7, "H": 4, "H_kv": 2, "d_h": 6}
"""Small enough to be drawn cell by cell, large enough for the mistakes to show; a mistake's own case goes first."""


@dataclass(frozen=True)
class Mistake:
    """What a mistake does on one case. `right` and `wrong` are the calls in which they part, each None where the code
    does not come that far; `at` is the step at which they part, counted from 0.
    """

    entry: Entry
    changed: Changed
    outcome: Outcome
    right: Trace | None
    wrong: Trace | None
    at: int

    @property
    def last(self) -> int:
        """How many steps the longer of the two walks has."""
        return max((len(trace) for trace in (self.right, self.wrong) if trace is not None), default=0)

    @property
    def diff(self) -> str:
        """The changed lines, as a diff."""
        right = pitfalls.unchanged(self.changed.reference.name).source.splitlines()
        wrong = self.changed.source.splitlines()
        rows = []
        for before, after in zip(self.changed.right_lines, self.changed.lines, strict=True):
            rows += [f"- {line}" for line in right[before.first - 1 : before.last]]
            rows += [f"+ {line}" for line in wrong[after.first - 1 : after.last]]
        indent = min((len(row) - len(row[2:].lstrip()) for row in rows if row[2:].strip()), default=2) - 2
        return "\n".join(row[:2] + row[2 + indent :] for row in rows)


def run(pitfall_id: str) -> Mistake:
    """Run the first form of a mistake on the case that shows it. Raises BadInput for an id that is not known."""
    entry = pitfalls.entry(pitfall_id)
    shown = shown_run(entry).case
    case = shown.model_copy(update={"sizes": SIZES | shown.sizes})
    changed = pitfalls.apply(entry)
    outcome = pitfalls.compare(changed, case)
    right, wrong = _walk(pitfalls.unchanged(changed.reference.name), case), _walk(changed, case)
    parting = pitfalls.part(right, wrong) if right and wrong else None
    call, at = (parting.call, parting.step) if parting else (0, 0)
    return Mistake(
        entry=entry,
        changed=changed,
        outcome=outcome,
        right=right[call] if call < len(right) else None,
        wrong=wrong[call] if call < len(wrong) else None,
        at=at,
    )


def shown_run(entry: Entry) -> Run:
    """The declared run that is walked: the first, which shows the mistake, unless it needs a kernel of its own.

    Which kernel stands behind scaled_dot_product_attention is a setting of the whole process, and not ours to change.
    """
    runs = entry.forms[0].runs
    return next((run for run in runs if run.backend == "default"), runs[0])


def step_of(trace: Trace | None, index: int) -> Step | None:
    """The step at `index`, None where the walk has ended by then."""
    return trace[index] if trace is not None and index < len(trace) else None


def _walk(changed: Changed, case: Case) -> tuple[Trace, ...]:
    """The traces of a walk; none where the code cannot even be built, which the outcome tells."""
    try:
        return pitfalls.walk(changed, case)
    except Exception:  # noqa: BLE001 whatever wrong code raises
        return ()
