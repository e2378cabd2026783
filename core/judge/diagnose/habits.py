"""What the checks show by themselves: chance, gradients, parameters, sizes, dtypes, caches."""

from collections.abc import Sequence

from core.judge._examine import Examination
from core.judge.diagnose import match
from core.judge.diagnose.findings import Finding
from core.judge.diagnose.locate import place_of
from core.judge.diagnose.match import Variant
from core.judge.diagnose.places import Places
from core.judge.diagnose.tape import Span, Tape

DRAWN = ("uniform_", "normal_", "kaiming_uniform_", "xavier_uniform_", "rand", "randn", "trunc_normal_")


def of_checks(
    exam: Examination, places: Places, variants: Sequence[Variant], known: Sequence[Finding]
) -> list[Finding]:
    """The findings that failed checks prove; `known` are those that were made already."""
    found: list[Finding] = []

    def add(id: str, span: Span | None) -> None:
        found.append(Finding(id, span, "check"))

    runs, evaluated = exam.failed("runs"), exam.failed("eval")
    if runs and runs.fault and runs.fault.reason == "returns":
        add("returns-wrong-thing", place_of(places, "returns-wrong-thing"))
    if evaluated and not any(f.pitfall == "layer-made-in-forward" for f in known):
        drawn = [s for s in places.plain.steps if s.op in DRAWN]
        if drawn and not places.plain.named("dropout"):
            add("layer-made-in-forward", drawn[0].span)
        else:
            add("dropout-always-on", place_of(places, "dropout-always-on"))
    if exam.failed("state") and exam.base is not None:
        born = next((lines for name, lines in exam.base.born.items() if name in exam.base.hidden and lines), [])
        add("params-unregistered", places.line(born[-1]) if born else None)
    for check, id in (("arguments", "no-divisibility-check"), ("groups", "gqa-no-sharing-check")):
        if exam.failed(check):
            add(id, place_of(places, id))
    training = exam.failed("training")
    if training and training.fault and training.fault.reason == "drops-scores":
        add("dropout-before-softmax", place_of(places, "dropout-before-softmax"))
    if exam.failed("low") and not known:
        finite = exam.problem == "online_softmax"
        id = "online-finite-start" if finite else "mask-finite-fill"
        add(id, place_of(places, id))
    large = exam.failed("large")
    if large and large.fault and large.fault.reason in ("nan", "numbers") and not exam.failed("numbers"):
        add("softmax-unstable", place_of(places, "softmax-unstable"))
    if exam.failed("gradients"):
        found += _gradients(exam, places, sure=bool(known))
    if not exam.failed("numbers"):
        found += _sizes(exam, places)
    device = exam.failed("device")
    if device and device.fault:
        line = device.fault.params.get("line")
        add("hard-coded-device-dtype", other_dtype(exam, "float16") or places.line(line))
    found += _backend(exam, places)
    found += _half(exam, places, [*known, *found])
    if exam.reference.cached:
        found += _caches(exam, places, variants, [*known, *found])
    return found


def _gradients(exam: Examination, places: Places, *, sure: bool) -> list[Finding]:
    """Without the step that cuts the graph, every gradient is there; `sure` leaves out what is less than that."""
    failed = exam.failed("gradients")
    assert exam.base is not None
    assert failed is not None
    assert failed.fault is not None
    inputs = exam.subject.draw.inputs(exam.reference, exam.base.sizes)
    for op in ("detach", "detach_"):
        edits = [{"op": op, "line": None, "do": "identity"}]
        if places.plain.named(op):
            call = exam.call(exam.base, inputs, grad=True, edits=edits)
            grads = call.raw.get("grads") or {}
            if call.error is None and grads and all(g is not None for g in grads.values()):
                return [Finding("graph-broken", places.first(places.plain.named(op)), "edit")]
    if sure:
        return []
    traced = Tape(exam.call(exam.base, inputs, trace=True, attached=True).raw.get("trace", []))
    for step in traced.steps:
        floats = [o for o in step.outputs if "float" in o["dtype"]]
        if step.line > 0 and floats and any(i["grad"] for i in step.inputs) and not any(o["grad"] for o in floats):
            return [Finding("graph-broken", step.span, "check")]
    line = failed.fault.params.get("line")
    return [Finding("graph-broken", places.line(line) or place_of(places, "graph-broken"), "check")]


def _sizes(exam: Examination, places: Places) -> list[Finding]:
    sizes, reuse = exam.failed("sizes"), exam.failed("reuse")
    if sizes and sizes.fault and sizes.case.endswith("= 1") and places.plain.named("squeeze", "squeeze_"):
        return [Finding("squeezed-axis", place_of(places, "squeezed-axis"), "check")]
    failed = sizes or reuse
    if failed is None or failed.fault is None or failed.fault.reason in ("returns", "no-roles"):
        return []
    line = places.line(failed.fault.params.get("line"))
    literal = [s for s in places.plain.splits if s.op in ("view", "reshape", "unflatten", "expand")]
    return [Finding("hard-coded-size", line or places.first(literal, places.plain.steps), "check")]


def _half(exam: Examination, places: Places, known: Sequence[Finding]) -> list[Finding]:
    half = exam.failed("half")
    if half is None or half.fault is None or exam.base is None:
        return []
    text, line = str(half.fault.params.get("text", "")), half.fault.params.get("line")
    if "overflow" in text:
        return [Finding("mask-half-overflow", places.line(line) or place_of(places, "mask-half-overflow"), "check")]
    if half.case.endswith("mask") and any(f.pitfall.startswith(("mask-", "sdpa-")) for f in known):
        return []
    typed = half.fault.reason == "dtype" or "dtype" in text or "scalar type" in text or "same type" in text
    if not typed:
        return []
    return [
        Finding("hard-coded-device-dtype", other_dtype(exam, half.case.split(",")[0]) or places.line(line), "check")
    ]


def _backend(exam: Examination, places: Places) -> list[Finding]:
    backend = exam.failed("backend")
    if backend is None or backend.fault is None:
        return []
    line = places.line(backend.fault.params.get("line"))
    if "is_causal" in str(backend.fault.params.get("text")):
        return [Finding("sdpa-mask-and-causal", line or places.first(places.plain.kernels), "check")]
    return (
        [Finding("merge-view-noncontiguous", line, "check")] if "view" in str(backend.fault.params.get("text")) else []
    )


def other_dtype(exam: Examination, dtype: str) -> Span | None:
    """The first step of a run in `dtype` that makes another float dtype of it."""
    import torch

    assert exam.base is not None
    inputs = exam.subject.draw.inputs(exam.reference, exam.base.sizes)
    made = exam.subject.make(exam.base.sizes, dtype=dtype, values=exam.base.tensors.values)
    if made.error is not None:
        return None
    halves = [t.to(getattr(torch, dtype)) if isinstance(t, torch.Tensor) else t for t in inputs]
    tape = Tape(exam.call(made, halves, trace=True).raw.get("trace", []))
    for step in tape.steps:
        floats = [o for o in step.outputs if "float" in o["dtype"] and o["dtype"] != dtype]
        if floats and step.line > 0:
            return step.span
    return None


def _caches(exam: Examination, places: Places, variants: Sequence[Variant], known: Sequence[Finding]) -> list[Finding]:
    found: list[Finding] = []
    shape, chunks, aliasing = exam.failed("cache"), exam.failed("chunks"), exam.failed("aliasing")
    assert exam.base is not None
    if chunks and not known and chunks.fault and exam.assignment is not None:
        pieces = [int(n) for n in chunks.case.split(" + ")]
        for m in match.chunked(exam, variants, pieces)[:1]:
            found += [Finding(id, place_of(places, id), "match") for id in m.variant.ids]
    if shape and shape.fault and shape.fault.reason == "cache-shape":
        sizes, (k, *_) = exam.base.sizes, shape.fault.params["found"]
        if len(k) == 4 and k[1] == sizes["H"] != sizes["H_kv"]:
            id = "mla-cache-expanded" if exam.problem == "mla" else "cache-expanded"
            found.append(Finding(id, place_of(places, id), "check"))
        elif (
            not found
            and len(k) == 4
            and k[2] != shape.fault.params["T"]
            and k[0] == sizes["B"]
            and k[1] == sizes["H_kv"]
        ):
            found.append(Finding("cache-not-grown", place_of(places, "cache-not-grown"), "check"))
    if aliasing and not chunks:
        found.append(Finding("cache-aliased", place_of(places, "cache-aliased"), "check"))
    return found
