"""Every mistake of the catalogue, made in a reference, is caught by the checks; every reference passes."""

import pytest

from core.judge.unseen import UNSEEN
from core.pitfalls import REFERENCES, Entry, Form, apply, catalogue
from tests.core.judge.local import judge_here

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of what the mistakes do

FORMS = [
    pytest.param(entry, form, id=f"{entry.id}/{form.name}")
    for entry in catalogue()
    for form in entry.forms
    if REFERENCES[form.references[0]].problem and form.references[0] != "mha_module"
]
SEEN = [param for param in FORMS if param.id not in UNSEEN]
# Named by another name that is as true.
NAMED_OTHERWISE = {
    "mask-finite-fill/main": "mask-half-overflow",
    "gqa-repeat-wrong-count/cut-to-fit": "gqa-repeat-order",
    "cache-not-grown/nothing-at-first": "returns-wrong-thing",
}


@pytest.mark.parametrize(
    "name", [r.name for r in REFERENCES.values() if r.problem and "attn" not in r.gives]
)  # mha_module gives the weights back as well, which the problem does not ask for
def test_every_reference_passes_and_nothing_is_found_in_it(name: str) -> None:
    found = judge_here(REFERENCES[name].problem, REFERENCES[name].source)
    assert (found.failed, found.findings) == ([], [])


@pytest.mark.parametrize(("entry", "form"), SEEN)
def test_a_mistake_is_caught_and_named(entry: Entry, form: Form) -> None:
    changed = apply(entry, form=form.name)
    found = judge_here(changed.reference.problem, changed.source)
    assert not found.passed
    assert NAMED_OTHERWISE.get(f"{entry.id}/{form.name}", entry.id) in found.ids


@pytest.mark.parametrize("name", sorted(UNSEEN))
def test_what_is_said_to_be_unseen_is(name: str) -> None:
    entry, form = next(param.values for param in FORMS if param.id == name)
    changed = apply(entry, form=form.name)
    assert judge_here(changed.reference.problem, changed.source).passed, f"take {name} out of core/judge/unseen.py"


@pytest.mark.parametrize("id", ["causal-missing", "causal-wrong-triangle"])
def test_a_look_into_the_future_is_told_as_one(id: str) -> None:
    changed = apply(next(entry for entry in catalogue() if entry.id == id))
    assert "future" in judge_here(changed.reference.problem, changed.source).failed
