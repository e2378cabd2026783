"""One call of a submission as a trace, beside the reference's on the same weights and input, and where they part."""

import secrets
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from core.errors import LANGS, BadInput, Explained
from core.judge._cases import Draw, Sizes
from core.judge._executor import FILENAME
from core.judge._expect import find_roles, with_roles
from core.judge._oracle import Oracle, right, slots_of
from core.judge._subject import Garbled, Made, Subject
from core.judge.sandbox import Limits, Stopped, start
from core.pitfalls import reference, unchanged
from core.trace import Step, TensorState, Trace, record
from core.trace.portable import dump, load

MOST = {"B": 4, "L": 16, "Lk": 16, "H": 8, "H_kv": 8, "d_model": 64}
MOST_CHARACTERS = 40_000
_FURTHER = {"window": 3, "block_size": 3, "d_latent": 12, "d_rope": 4}
_AXES = {"x": "B L d_model", "context": "B Lk d_model", "q": "B H L d_h", "k": "B H Lk d_h", "v": "B H Lk d_h"}


def walk(problem: str, source: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """``{"own", "reference", "pairs", "parts_at", "error"}``, made for JSON; what the child says is checked here.

    `sizes` are B, L, Lk, H, H_kv and d_h, at most `MOST`. "own" and "reference" are traces for
    `core.trace.portable.load`, None where there is none; they stand in ``<submission>`` and in the reference's file.
    "pairs" has for each own step the index of the reference's step to see beside it, "parts_at" is the index of the
    first own step that is none of the reference's, None where all are. "error" is the code and the parameters of an
    error in `core.errors`. Raises BadInput for an unknown problem.
    """
    contract = reference(problem)
    told: dict[str, Any] = {"own": None, "reference": None, "pairs": [], "parts_at": None, "error": None}
    try:
        if len(source) > MOST_CHARACTERS:
            raise BadInput("judge.walk-too-long", size=len(source), most=MOST_CHARACTERS)
        bounded = _bounded(sizes)
        with start() as session, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _walk(Subject(session, contract, Draw(secrets.randbits(48))), problem, source, bounded, told)
    except Garbled:
        told["error"] = _words(Stopped("garbled", Limits(), 0.0))
    except Explained as error:
        told["error"] = _words(error)
    return told


def _words(error: Explained) -> dict[str, Any]:
    return {"code": error.code, "params": error.params}


def _bounded(sizes: Mapping[str, int]) -> Sizes:
    given = {**sizes, "d_model": sizes["H"] * sizes["d_h"]}
    for name, most in MOST.items():
        if not 1 <= given[name] <= most:
            raise BadInput("judge.walk-size", name=name, size=given[name], most=most)
    return {**_FURTHER, **given}


def _walk(subject: Subject, problem: str, source: str, sizes: Sizes, told: dict[str, Any]) -> None:
    contract = subject.reference
    _raise(subject.load(source), contract.call)
    made = subject.make(sizes)
    _raise(made.error, contract.call)
    inputs = subject.draw.inputs(contract, sizes)
    grouped = "n_kv_heads" in (contract.arguments or ())
    axes = [_AXES[name] for name in contract.takes if name in _AXES]
    known = {name: sizes[name] for name in ("H", "d_h", *(["H_kv"] if grouped else []))}
    reply = subject.walk(made, inputs, axes=axes, sizes=known)
    _raise(reply.get("error"), contract.call)
    if "refused" in reply:
        raise _refused(reply["refused"])
    try:
        own = load(reply["walk"], sources={FILENAME: source})
    except (KeyError, ValueError):
        raise Garbled from None
    if not len(own):
        if own.error is not None:
            line = None if own.error_source is None else own.error_source.line
            raised = {"type": type(own.error).__name__, "text": str(own.error), "line": line}
            _raise(raised, contract.call)
        raise BadInput("judge.walk-empty", name=contract.call)
    told["own"] = dump(own, values=False)
    oracle = _oracle(problem, made, inputs, own)
    if oracle is None:
        told["parts_at"] = None if own.error is None else len(own) - 1
        return
    changed = unchanged(problem)
    function, texts = oracle.module or oracle, {changed.filename: changed.source}
    with torch.no_grad():
        beside = record(function, *inputs, axes=axes, sizes=known, keep_values=True, sources=texts)
    told["reference"] = dump(beside, values=False)
    told["pairs"], told["parts_at"] = _parting(own, beside)


def _raise(error: Mapping[str, Any] | None, name: str) -> None:
    """Raises, in words, what came in the place of something that can be walked through."""
    if error is not None:
        told = f"{error['type']}: {error['text']}"[:600]
        if error["line"] is None:
            raise BadInput("judge.walk-raises", error=told, name=name)
        raise BadInput("judge.walk-raises-at", error=told, line=error["line"], name=name)


def _refused(refusal: Any) -> Explained:
    """A run that is too long or too large to be looked at, if that is what the child says."""
    try:
        found = BadInput(refusal["code"], **{name: str(value)[:200] for name, value in refusal["params"].items()})
        if found.code in ("trace.too-long", "trace.too-large") and all(found.parts(lang) for lang in LANGS):
            return found
    except (TypeError, LookupError, AttributeError, ValueError):
        pass
    return Stopped("garbled", Limits(), 0.0)


def _oracle(problem: str, made: Made, inputs: list[Any], own: Trace) -> Oracle | None:
    """The reference with the submission's weights, in the roles that explain its numbers, or else the likeliest."""
    try:
        slots, oracle = slots_of(problem, made.sizes), right(problem, made.sizes)
    except Exception:  # noqa: BLE001  sizes that the reference refuses in its own way, such as an odd d_h with RoPE
        return None
    if oracle.module is None:
        return oracle
    last = None if own.error is not None else _value(own[-1])
    found = None if last is None else find_roles(problem, made.tensors, made.sizes, inputs, last)
    for assignment, roles in with_roles(made.tensors, slots):
        if (found is None or assignment == found) and oracle.load(roles):
            return oracle
    return None


# Where they part -----------------------------------------------------------------------------------------------------


def _parting(own: Trace, beside: Trace) -> tuple[list[int], int | None]:
    """For each own step the reference's to see beside it, and the first own step that is none of the reference's.

    Computing steps are compared by their numbers in whatever order, as layouts are everybody's own, and one that is a
    style's own is forgiven where a later one made of it is the reference's again. Of the layout steps right before
    the one that departs, the first whose arrangement the reference does not have is to blame.
    """
    values = [_value(step) for step in beside]
    known = [None if value is None else _sorted(value) for value in values]
    pairs: list[int] = []
    alike: list[bool] = []
    at = 0
    for step in own:
        value = _value(step)
        numbers = None if value is None else _sorted(value)
        same = [
            i for i, other in enumerate(known) if numbers is not None and other is not None and _close(numbers, other)
        ]
        arranged = [i for i in same if _arranged_alike(value, values[i])]
        named = [i for i in arranged or same if beside[i].op == step.op] or arranged or same
        at = next((i for i in named if i >= at), named[-1]) if named else at
        pairs.append(at)
        alike.append(bool(same) or numbers is None)
    if own.error is None and alike[-1] and _ends_alike(own, beside):
        return pairs, None
    computed = [step.index for step in own if step.kind == "compute" and _value(step) is not None]
    last = max((i for i in computed if alike[i]), default=-1)
    departed = next((i for i in computed if i > last), None)
    if departed is None:
        if own.error is not None:  # raised by a step, or between steps
            return pairs, None if own[-1].error is None else len(own) - 1
        departed = len(own) - 1
    arrangements = [other for other in values if other is not None]
    return pairs, _blamed(own, departed, arrangements)


def _ends_alike(own: Trace, beside: Trace) -> bool:
    """Whether what is made last is the same in the reference, arranged alike: a merge may be all that is wrong."""
    return any(_arranged_alike(_value(own[-1]), _value(step)) for step in beside)


def _blamed(own: Trace, departed: int, arrangements: list[Tensor]) -> int:
    made = {_place(out): step for step in own.steps[:departed] for out in step.outputs}
    blamed, states = departed, list(own[departed].inputs)
    while states:
        step = made.get(_place(states.pop()))
        value = None if step is None else _value(step)
        if step is None or value is None or step.kind == "compute" or step.index >= departed:
            continue
        if not any(_arranged_alike(value, other) for other in arrangements):
            blamed = min(blamed, step.index)
            states.extend(state for state in step.inputs if _place(state) not in map(_place, step.outputs))
    return blamed


def _place(state: TensorState) -> tuple[Any, ...]:
    return state.storage, state.offset, state.shape, state.stride


def _value(step: Step) -> Tensor | None:
    """What a step made, where that is real numbers."""
    value = None if step.output is None else step.output.value
    return value if value is not None and value.is_floating_point() else None


def _arranged_alike(one: Tensor | None, other: Tensor | None) -> bool:
    return one is not None and other is not None and _close(one, other)


def _sorted(value: Tensor) -> Tensor:
    return value.double().flatten().sort().values


def _close(one: Tensor, other: Tensor) -> bool:
    same = one.shape == other.shape
    return same and torch.allclose(one.double(), other.double(), rtol=1e-6, atol=1e-8, equal_nan=True)
