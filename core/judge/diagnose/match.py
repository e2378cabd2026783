"""Runs the catalogue of mistakes on a submission's own weights: which of them gives exactly what it gave?

An equal output, to float64's rounding on inputs drawn for this verdict, proves the mistake whatever the style. Calls
without a mask come first; what the masks change is looked for on top of what was found there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import BadInput
from core.judge import _cases
from core.judge._compare import difference
from core.judge._examine import Examination, Trial
from core.judge._expect import with_roles
from core.judge._oracle import Oracle, Roles, slots_of
from core.judge._roles import Slot, take
from core.pitfalls import REFERENCES, Changed, Entry, Form, catalogue, change, reference

_ROLES_TRIED = 3


@dataclass(frozen=True)
class Variant:
    """A reference with the changes of some entries of the catalogue in it."""

    ids: tuple[str, ...]
    forms: tuple[Form, ...]
    changed: Changed
    slots: tuple[Slot, ...]
    oracle: Oracle | None
    """None where the class cannot be made."""


@dataclass(frozen=True)
class Match:
    """A variant that gives what the submission gave, with these weights."""

    variant: Variant
    roles: Roles
    loud: bool = False
    """Whether no numbers were compared: both raise the same error, or give nothing but nan and inf."""
    rank: int = 0
    """0 for the likeliest roles."""


def plain(exam: Examination, variants: Sequence[Variant], trials: Sequence[Trial]) -> list[Match]:
    """The variants that give the same as the submission on all `trials`."""
    found = []
    wrong_first = sorted(trials, key=lambda trial: trial.fault is None)
    for variant in variants:
        for rank, roles in enumerate(_roles(exam, variant.slots)):
            if variant.oracle is not None and variant.oracle.load(roles):
                told = _told(variant.oracle, wrong_first, exam.tolerance)
                if told:
                    found.append(Match(variant, roles, "numbers" not in told, rank))
                    break
    return found


def _told(oracle: Oracle, trials: Sequence[Trial], tolerance: float) -> list[str]:
    """What `_same` says of each trial; nothing as soon as one is not the same."""
    told = []
    for trial in trials:
        told.append(_same(oracle, trial, tolerance))
        if not told[-1]:
            return []
    return told


def chunked(exam: Examination, variants: Sequence[Variant], chunks: Sequence[int]) -> list[Match]:
    """The variants that give the same as the submission where the tokens come in chunks."""
    assert exam.base is not None
    x = exam.subject.draw.normal(exam.base.sizes["B"], sum(chunks), exam.base.sizes["d_model"])
    outs, errors, past = [], [], None
    for piece in x.split(list(chunks), dim=1):
        past = exam.call(exam.base, [piece], cache=past)
        outs.append(past.out)
        errors.append(past.error)
        if past.error is not None:
            break
    found = []
    for variant in variants:
        for roles in _roles(exam, variant.slots):
            if variant.oracle is not None and variant.oracle.load(roles):
                told = _chunks_same(variant.oracle, x.split(list(chunks), dim=1), outs, errors)
                if told:
                    found.append(Match(variant, roles, loud=told == "error"))
    return found


def _chunks_same(oracle: Oracle, pieces: Sequence[Tensor], outs: Sequence[Any], errors: Sequence[Any]) -> str:
    past: Any = None
    for piece, found, error in zip(pieces, outs, errors, strict=False):
        try:
            with torch.no_grad():
                out, past = oracle(piece, past)
        except Exception as raised:  # noqa: BLE001
            return "error" if error and error["text"] == str(raised) else ""
        if error is not None or found is None or not isinstance(out, Tensor) or difference(found, out) is not None:
            return ""
    return "numbers"


@cache
def finite_variants_of(problem: str) -> tuple[Variant, ...]:
    """The same with the lowest number in the place of minus infinity, which hides a row that is hidden whole."""
    found = []
    for variant in variants_of(problem):
        source = variant.changed.source.replace('float("-inf")', "torch.finfo(scores.dtype).min")
        if source != variant.changed.source:
            changed = replace(variant.changed, source=f"{source}\nimport torch\n")
            try:
                found.append(replace(variant, changed=changed, oracle=Oracle(changed, _cases.generic())))
            except Exception:  # noqa: BLE001  as in _variant
                continue
    return tuple(found)


@cache
def variants_of(problem: str) -> tuple[Variant, ...]:
    """Every form of every entry in every reference of this problem that its changes fit, built on the generic sizes."""
    names = [name for name, ref in REFERENCES.items() if ref.problem == problem]
    found = [
        _variant(problem, name, ((entry, form),))
        for entry in catalogue()
        for form in entry.forms
        for name in names
        if name in form.references
        or (_fits_all(entry) and all(reference(name).source.count(c.right) == 1 for c in form.changes))
    ]
    return tuple(v for v in found if v is not None)


def _fits_all(entry: Entry) -> bool:
    """Whether a mistake is one of attention itself, which can be made in every problem."""
    return not entry.id.startswith(("online-", "mla-", "rope-", "window-", "cross-", "cache-", "check-", "mha-api-"))


def pairs(problem: str, first: Sequence[Variant], second: Sequence[Variant]) -> Iterator[Variant]:
    """Both mistakes at once, where they can be made in one reference."""
    entries = {entry.id: entry for entry in catalogue()}
    for a in first:
        for b in second:
            if a.changed.reference.name == b.changed.reference.name and a.ids != b.ids:
                made = ((entries[a.ids[0]], a.forms[0]), (entries[b.ids[0]], b.forms[0]))
                variant = _variant(problem, a.changed.reference.name, made)
                if variant is not None:
                    yield variant


def _variant(problem: str, name: str, made: Sequence[tuple[Entry, Form]]) -> Variant | None:
    try:
        changed = change(name, [c for _, form in made for c in form.changes], label="+".join(e.id for e, _ in made))
    except BadInput:  # the changes overlap
        return None
    ids, forms = tuple(e.id for e, _ in made), tuple(f for _, f in made)
    sizes = _cases.generic()
    try:
        oracle = Oracle(changed, sizes)
    except Exception:  # noqa: BLE001  wrong classes raise what they like
        return Variant(ids, forms, changed, (), None)
    return Variant(ids, forms, changed, _slots(problem, oracle.module, sizes), oracle)


def _slots(problem: str, module: nn.Module | None, sizes: _cases.Sizes) -> tuple[Slot, ...]:
    """The roles that a variant's own layers have, which may differ in size from the reference's."""
    if module is None:
        return ()
    usual = {slot.role: slot for slot in slots_of(problem, sizes)}
    found = []
    for name, layer in module.named_children():
        if not isinstance(layer, nn.Linear):
            continue
        outer, inner = layer.weight.shape
        role = name.removeprefix("w_")
        if role == "qkv" and outer != usual["q"].rows and outer % 3 == 0:
            found += [_slot(r, outer // 3, inner, sizes) for r in "qkv"]
        elif role == "o":
            found.append(_slot("o", inner, outer, sizes, merges=True))
        else:
            found.append(_slot(role, outer, inner, sizes))
    return tuple(found)


def _slot(role: str, rows: int, other: int, sizes: _cases.Sizes, *, merges: bool = False) -> Slot:
    d_h = sizes["d_h"]
    heads = rows // d_h if rows % d_h == 0 else 1
    return Slot(role, heads, rows // heads, other, merges)


def _roles(exam: Examination, slots: tuple[Slot, ...]) -> list[Roles]:
    """The likeliest ways in which the submission's weights play the roles."""
    if not slots:
        return [{}]
    assert exam.base is not None
    usual = slots == slots_of(exam.problem, exam.base.sizes)
    if usual and exam.assignment:
        roles = take(exam.assignment, exam.base.tensors, slots)
        return [roles] if roles is not None else []
    known = exam.roles_tried
    if slots not in known:
        kinds: dict[tuple[str, ...], int] = {}
        known[slots] = []
        for i, (assignment, roles) in enumerate(with_roles(exam.base.tensors, slots)):
            kind = tuple(recipe.kind for recipe in assignment.values())
            kinds[kind] = kinds.get(kind, 0) + 1
            if i < _ROLES_TRIED or kinds[kind] == 1:  # the likeliest, and the likeliest of every layout
                known[slots].append(roles)
        if not known[slots]:
            known[slots] = _without_output(exam, slots)
    return known[slots]


def _without_output(exam: Examination, slots: tuple[Slot, ...]) -> list[Roles]:
    """The roles of a module that has no output projection: an identity plays its role."""
    out = next((slot for slot in slots if slot.merges), None)
    if out is None or out.rows != out.other or exam.base is None:
        return []
    found = with_roles(exam.base.tensors, tuple(slot for slot in slots if not slot.merges))
    eye = torch.eye(out.rows, dtype=torch.float64)
    return [{**roles, "o": (eye, None)} for _, (_, roles) in zip(range(_ROLES_TRIED), found, strict=False)]


def _same(oracle: Oracle, trial: Trial, tolerance: float) -> str:
    """ "numbers", "nan" or "error" where the variant does what the submission did, "" where it does not."""
    error = trial.call.error
    try:
        with torch.no_grad():
            result: Any = oracle(*trial.inputs) if trial.mask is None else oracle(*trial.inputs, mask=trial.mask)
    except Exception as raised:  # noqa: BLE001
        return "error" if error and error["text"] == str(raised) and error["type"] == type(raised).__name__ else ""
    if error is not None:
        return ""
    out, found = (result[0] if isinstance(result, tuple) else result), trial.call.out
    if not isinstance(out, Tensor) or found is None or out.shape != found.shape:
        return ""
    lost = ~out.isfinite()
    if not torch.equal(lost, ~found.isfinite()):
        return ""
    fault = difference(found.masked_fill(lost, 0.0), out.masked_fill(lost, 0.0), tolerance)
    if fault is not None:
        return ""
    return "nan" if lost.all() else "numbers"
