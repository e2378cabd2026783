"""Names the mistake: which of the catalogue it is, on which line, and how we know.

First what gives the same numbers (`match`), then what the checks themselves show (`habits`), then what an error says
(`loud`). Where nothing fits, nothing is said here: the verdict shows the first step that departs instead.
"""

import time
from dataclasses import replace
from itertools import islice
from typing import Literal

from core.judge._compare import fault_of
from core.judge._examine import Examination
from core.judge._expect import find_roles, output
from core.judge._oracle import slots_of
from core.judge._roles import Slot, Tensors, assignments, uses_all
from core.judge.diagnose import habits, local, loud, match, turned
from core.judge.diagnose.choose import called, prefer
from core.judge.diagnose.departs import last_alike
from core.judge.diagnose.findings import Finding
from core.judge.diagnose.locate import place_of, place_of_shared, suspects
from core.judge.diagnose.match import Match, Variant
from core.judge.diagnose.places import Places
from core.judge.diagnose.tape import Tape

__all__ = ["Finding", "diagnose", "last_alike", "prepare"]

# Mistakes that only show on other inputs than those that are matched, or in other ways than by numbers.
_PAIR_SECONDS = 0.35  # of processor time
_NOT_BY_NUMBERS = frozenset(
    [
        "no-divisibility-check",
        "params-unregistered",
        "graph-broken",
        "dropout-always-on",
        "dropout-before-softmax",
        "softmax-unstable",
        "mask-half-overflow",
        "gqa-no-sharing-check",
        "cache-aliased",
        "check-weights-not-copied",
        "check-nan-passes",
        "mha-api-averaged",
        "mha-api-weights-off",
        "cross-batch-unchecked",
        "mask-finite-fill",
    ]
)


def diagnose(exam: Examination, source: str) -> list[Finding]:
    """The findings on a submission that did not pass, the surest first."""
    if exam.passed:
        return []
    base, first = exam.base, exam.first
    if base is None or base.error is not None or first is None:
        return loud.of_loading(exam, source)
    places = _places(exam, source)
    found: list[Finding] = []
    variants = [v for v in match.variants_of(exam.problem) if v.ids[0] not in _NOT_BY_NUMBERS]
    start: list[Match] = []
    if (first.fault is not None and first.fault.reason != "returns") or exam.failed("numbers"):
        start = prefer(match.plain(exam, variants, [first]), places)
        if not start and first.call.error is None:
            start = prefer(match.plain(exam, _finite(exam), [first]), places)
        if not start and first.call.error is None:
            found += _structure(exam, places)
        if not start and not found and first.call.error is None:
            proposed = local.proposals(exam, places)
            start = _proved(exam, variants, places, proposed)
            if not start:
                found += [Finding(p.pitfall, p.span, "trace") for p in proposed]
        if not start and not found and first.call.error is None:
            start = _first_pair(exam, variants, places)
        if _lacks_output(exam, places):  # then whatever else needs the output projection gives the same
            start = [m for m in start if "output-projection-missing" in m.variant.ids] or start
        for one in start[:1]:
            found += _findings(one, places)
        found = [_typed(exam, finding) for finding in found]
    made_anew = exam.failed("eval") and places.plain.named(*habits.DRAWN)
    if (
        first.call.error is None
        and not made_anew
        and not places.plain.output_projections
        and _lacks_output(exam, places)
    ):
        found.append(Finding("output-projection-missing", places.returned(), "match"))
    if not found and first.call.error is not None:
        found += loud.of_error(exam, places)
    found += _masks(exam, variants, start, places)
    found += habits.of_checks(exam, places, variants, found)
    unique = {finding.pitfall: finding for finding in reversed(found)}
    return sorted(unique.values(), key=lambda f: f.confidence != "proved")


def prepare(problem: str) -> None:
    """Build the catalogue's variants of a problem, so that verdicts after it need not."""
    match.variants_of(problem)
    match.finite_variants_of(problem)


def _masks(exam: Examination, variants: list[Variant], start: list[Match], places: Places) -> list[Finding]:
    """What is wrong with the masks, on top of what is wrong without them."""
    trials = exam.masked
    backend = exam.failed("backend")
    if backend and backend.fault and "is_causal" in str(backend.fault.params.get("text")):
        return []  # what else it does depends on the kernel
    if not trials or all(t.fault is None and t.expected is not None for t in trials) or exam.first is None:
        return []
    if start:
        explained = any(match.plain(exam, [one.variant], trials) for one in start)
        if explained or start[0].loud:
            return []
        masked = [v for v in variants if v.ids[0].startswith(("mask-", "sdpa-", "mha-api-"))]
        both = match.pairs(exam.problem, [one.variant for one in start[:2]], masked)
        matches = prefer(match.plain(exam, list(both), trials), places)
        if not matches:
            _expect(exam, start[0])
            return turned.of_masks(exam, places)
        return [f for m in matches[:1] for f in _findings(m, places)[1:]]
    matches = prefer(match.plain(exam, variants, [exam.first, *trials]), places)
    if not matches:
        matches = prefer(match.plain(exam, _finite(exam), [exam.first, *trials]), places)
    if not matches:
        return turned.of_masks(exam, places)
    return [f for m in matches[:1] for f in _findings(m, places)]


def _structure(exam: Examination, places: Places) -> list[Finding]:
    """What the weights' sizes and roles say: one of them in several roles, or as many kv heads as query heads."""
    base, first = exam.base, exam.first
    assert base is not None
    assert first is not None
    if exam.reference.arguments is None or first.call.out is None:
        return []
    found = find_roles(exam.problem, base.tensors, base.sizes, first.inputs, first.call.out, shared=True)
    if found:
        sources = {role: recipe.source for role, recipe in found.items() if role != "o"}
        cut = found["k"].of > 1 or not uses_all(found, base.tensors)  # the values have rows or a layer of their own
        if sources["k"] == sources["v"] and cut:
            return [Finding("value-is-key", place_of(places, "value-is-key"), "match")]
        twice = next((s for s in sources.values() if list(sources.values()).count(s) > 1), "")
        return [Finding("projection-shared", place_of_shared(places, twice), "match")]
    slots = slots_of(exam.problem, base.sizes)
    full = tuple(replace(s, heads=base.sizes["H"]) if s.role in "kv" else s for s in slots)
    if full != slots and exam.problem != "mla" and not _playable(base.tensors, slots) and _playable(base.tensors, full):
        return [Finding("gqa-kv-full-size", place_of(places, "gqa-kv-full-size"), "check")]
    return []


def _playable(tensors: Tensors, slots: tuple[Slot, ...]) -> bool:
    """Whether the weights can play these roles, each of them one."""
    return any(uses_all(assignment, tensors) for assignment in islice(assignments(tensors, slots), 40))


def _proved(exam: Examination, variants: list[Variant], places: Places, proposed: list[local.Proposal]) -> list[Match]:
    """The proposals, taken two at a time, that give the submission's output together."""
    groups = [[v for v in variants if v.ids[0] == p.pitfall] for p in proposed[:4]]
    unseen = [
        v
        for v in variants
        if v.ids[0].startswith(
            ("causal-", "mask-after-softmax", "projection-activation", "window-", "rope-", "mla-", "softmax-")
        )
    ]
    return _first_of(exam, [(one, other) for i, one in enumerate(groups) for other in [*groups[i + 1 :], unseen]])


def _expect(exam: Examination, one: Match) -> None:
    """Expect of the masked calls what the mistake that is known gives, so that another one shows."""
    oracle = one.variant.oracle
    if oracle is None or not oracle.load(one.roles):
        return
    for trial in exam.masked:
        trial.expected = output(oracle, trial.inputs, trial.mask)
        trial.fault = None if trial.expected is None else fault_of(trial.call, trial.expected, tolerance=exam.tolerance)


def _first_pair(exam: Examination, variants: list[Variant], places: Places) -> list[Match]:
    """Two mistakes at once, one of a kind each, leaving out kinds that the run shows to be right."""
    groups = [[v for v in variants if v.ids[0] in ids] for ids in suspects(places)]
    return _first_of(exam, [(one, other) for i, one in enumerate(groups) for other in groups[i + 1 :]])


def _first_of(exam: Examination, groups: list[tuple[list[Variant], list[Variant]]]) -> list[Match]:
    """The first pair of one of each that gives the submission's output; gives up after a while."""
    assert exam.first is not None
    until = time.process_time() + _PAIR_SECONDS
    for one, other in groups:
        for pair in match.pairs(exam.problem, one, other):
            if found := [m for m in match.plain(exam, [pair], [exam.first]) if not m.loud]:
                return found
            if time.process_time() > until:
                return []
    return []


def _lacks_output(exam: Examination, places: Places) -> bool:
    """Whether the weights play every role but the output's."""
    if exam.base is None or exam.reference.arguments is None:
        return False
    slots = slots_of(exam.problem, exam.base.sizes)
    inner = tuple(slot for slot in slots if not slot.merges)
    return not _playable(exam.base.tensors, slots) and _playable(exam.base.tensors, inner)


def _typed(exam: Examination, finding: Finding) -> Finding:
    """Another dtype's line is found in a run in half precision."""
    if finding.pitfall != "hard-coded-device-dtype":
        return finding
    return replace(finding, span=habits.other_dtype(exam, "float16"))


def _findings(m: Match, places: Places) -> list[Finding]:
    """A match's mistakes with their places; an error's stand where it was raised, if nothing else is known."""
    proof: Literal["error", "match"] = "error" if m.loud else "match"
    named = [(called(id, places), form.name) for id, form in zip(m.variant.ids, m.variant.forms, strict=True)]
    return [Finding(id, place_of(places, id, form) or places.failed(), proof) for id, form in named]


def _finite(exam: Examination) -> list[Variant]:
    return [v for v in match.finite_variants_of(exam.problem) if v.ids[0] not in _NOT_BY_NUMBERS]


def _places(exam: Examination, source: str) -> Places:
    base, first = exam.base, exam.first
    assert base is not None
    assert first is not None
    plain = Tape(first.call.raw.get("trace", []))
    masked = Tape([])
    wrong = next((t for t in exam.masked if t.fault is not None), exam.masked[0] if exam.masked else None)
    if wrong is not None:
        masked = Tape(exam.call(base, wrong.inputs, wrong.mask, trace=True).raw.get("trace", []))
    elif exam.reference.cached and first.call.cache is not None:
        x = exam.subject.draw.normal(base.sizes["B"], 3, base.sizes["d_model"])
        past = exam.call(base, first.inputs)
        masked = Tape(exam.call(base, [x], cache=past, trace=True).raw.get("trace", []))
    return Places(plain, masked, base.born, source, exam.reference.call, first.call.error)
