"""What an error says: the step that raised, and what it was given."""

from core.judge._examine import Examination
from core.judge.diagnose.findings import Finding
from core.judge.diagnose.places import Places
from core.judge.diagnose.tape import Step

_COMMON = ((512, 8), (768, 12), (1024, 16), (64, 4))  # d_model and n_heads as examples have them


def of_loading(exam: Examination, source: str) -> list[Finding]:
    """A class that cannot be made in odd sizes, but in those of everybody's example, has them written into it."""
    failed = exam.failed("builds")
    if failed is None or failed.fault is None or exam.base is None:
        return []
    for d_model, n_heads in _COMMON:
        if exam.subject.make({**exam.base.sizes, "d_model": d_model, "H": n_heads, "H_kv": n_heads // 2}).error is None:
            line = failed.fault.params.get("line") or 0
            text = (source.splitlines() or [""])[line - 1] if line else ""
            return [Finding("hard-coded-size", (line, line, len(text) - len(text.lstrip()), len(text)), "check")]
    return []


def of_error(exam: Examination, places: Places) -> list[Finding]:
    """The pitfall that the step which raised speaks of."""
    tape = places.plain
    failing = next((s for s in reversed(tape.steps) if s.data["error"]), None)
    if failing is None or exam.base is None:
        return []
    id = _named(failing, places, exam.base.sizes)
    return [Finding(id, failing.span, "error")] if id else []


def _named(step: Step, places: Places, sizes: dict[str, int]) -> str | None:
    shapes = [s["shape"] for s in step.inputs]
    mixed = step.index > places.plain.last_mix >= 0
    if step.op == "view":
        if 0 in step.inputs[0]["stride"]:
            return "gqa-view-after-expand"
        return "merge-view-noncontiguous" if mixed else None
    if step.op in ("matmul", "bmm", "baddbmm") and len(shapes) > 1 and shapes[0] and shapes[1]:
        heads = {sizes["H"], sizes["H_kv"]}
        if len(shapes[0]) == len(shapes[1]) == 4 and {shapes[0][1], shapes[1][1]} == heads != {sizes["H"]}:
            return "gqa-no-repeat"
        return "key-wrong-transpose" if step.index <= places.plain.first_score else None
    return None
