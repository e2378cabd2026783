"""What an error says: the step that raised, and what it was given."""

from core.judge._examine import Examination
from core.judge.diagnose.findings import Finding
from core.judge.diagnose.locate import Places
from core.judge.diagnose.tape import Step


def of_loading(exam: Examination, source: str) -> list[Finding]:
    """A source that cannot be loaded or a class that cannot be made has no pitfall of the catalogue in it."""
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
