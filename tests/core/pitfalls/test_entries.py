"""Each entry of the catalogue does what it declares, in every form, on every case; undone, nothing is left of it."""

import math
import re
from contextlib import nullcontext

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from core import pitfalls
from core.pitfalls import Case, Changed, Entry, Form, Outcome, Run

# Wrong code may do what torch warns of.
pytestmark = pytest.mark.filterwarnings("ignore")

FORMS = [(entry, form) for entry in pitfalls.catalogue() for form in entry.forms]


def forms() -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("entry", "form"), FORMS, ids=[f"{e.id}-{f.name}" for e, f in FORMS])


RUNS = [
    pytest.param(entry, form, run, id=f"{entry.id}-{form.name}-{number}-{run.shows}")
    for entry, form in FORMS
    for number, run in enumerate(form.runs)
]


def played(changed: Changed, case: Case) -> Outcome:
    with sdpa_kernel(SDPBackend.MATH) if case.backend == "math" else nullcontext():
        return pitfalls.compare(changed, case)


@pytest.mark.parametrize(("entry", "form", "run"), RUNS)
def test_a_run_shows_what_is_declared(entry: Entry, form: Form, run: Run) -> None:
    outcome = played(pitfalls.apply(entry, form=form.name), run.case)
    assert outcome.shows == run.shows, outcome
    assert outcome.repeats == run.repeats
    if run.shows == "raises":
        assert outcome.error is not None
        assert re.match(run.error, outcome.error), outcome.error
    if run.shows == "numbers":
        assert outcome.difference is not None
        assert outcome.expected is not None
        # no mistake is a matter of rounding
        assert outcome.difference > 1e-3 or math.isnan(outcome.expected) or run.dtype != "float64"


@forms()
def test_it_is_tried_on_the_generic_sizes(entry: Entry, form: Form) -> None:
    assert any(not run.sizes for run in form.runs), (
        "declare what it shows, or that it is hidden, where all sizes differ"
    )


@forms()
def test_the_same_changes_make_the_same_mistake_in_the_other_references(entry: Entry, form: Form) -> None:
    case = form.runs[0].case
    for name in form.references[1:]:
        outcome = played(pitfalls.apply(entry, form=form.name, reference=name), case)
        assert outcome.shows == form.effect, (name, outcome)


@forms()
def test_undone_it_is_the_reference_again(entry: Entry, form: Form) -> None:
    """Its lines, put back to what stands on the lines of the reference, give the reference and its numbers."""
    for name in form.references:
        changed = pitfalls.apply(entry, form=form.name, reference=name)
        assert changed.source != changed.reference.source
        repaired = repair(changed)
        assert repaired == changed.reference.source
        undone = Changed(changed.reference, repaired, changed.filename)
        outcome = played(undone, form.runs[0].case)
        assert outcome.shows == "same", outcome
        if form.runs[0].dtype == "float64":
            assert (outcome.difference or 0.0) <= 1e-10


def repair(changed: Changed) -> str:
    lines = changed.source.splitlines(keepends=True)
    rights = changed.reference.source.splitlines(keepends=True)
    for here, there in reversed(list(zip(changed.lines, changed.right_lines, strict=True))):
        lines[here.first - 1 : here.last] = rights[there.first - 1 : there.last]
    return "".join(lines)


@forms()
def test_a_silent_mistake_shows_in_the_picture_of_the_walk(entry: Entry, form: Form) -> None:
    """What errors do not show, shapes, strides, meanings or values of the two walks do."""
    if not form.silent:
        return
    run = next(run for run in form.runs if run.shows not in ("raises", "returns", "shape", "accepts", "same"))
    changed = pitfalls.apply(entry, form=form.name)
    right = pitfalls.walk(pitfalls.unchanged(changed.reference.name), run.case)
    wrong = pitfalls.walk(changed, run.case)
    parting = pitfalls.part(right, wrong)
    assert parting is not None
    if parting.aspects == ("steps",):  # one goes on where the other ends: what stands last differs
        ends = [walk[-1].steps[-1].output for walk in (right, wrong)]
        assert not torch.equal(*(end.value for end in ends if end is not None and end.value is not None))
    else:
        assert set(parting.aspects) & {"shape", "layout", "values", "axes"}, parting
    assert pitfalls.part(right, pitfalls.walk(pitfalls.unchanged(changed.reference.name), run.case)) is None
