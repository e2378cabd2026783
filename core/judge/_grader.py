"""Grades one submission: starts the child that runs it, tries it, names the mistake, and puts all into words."""

import secrets
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from typing import Any

from core.judge._cases import Draw
from core.judge._examine import Examination
from core.judge._subject import Garbled, Subject
from core.judge._walk import MOST_CHARACTERS
from core.judge._walk import walk as walked
from core.judge.diagnose import diagnose, last_alike, prepare
from core.judge.sandbox import Limits, Stopped, start
from core.judge.verdict import check_words, error_words, finding_words, words
from core.pitfalls import reference

__all__ = ["grade", "prepare"]


def grade(
    problem: str, source: str, *, seed: int | None = None, walk: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The verdict as plain data, both languages inside; see `core.judge`. With `walk`, which are sizes, no verdict but
    what `core.judge._walk` tells of one call.

    `seed` draws inputs and weights again as they were; without one nobody can know them beforehand. Raises BadInput
    for an unknown problem.
    """
    if walk is not None:
        return walked(problem, source, walk)
    began = time.monotonic()
    contract = reference(problem)
    verdict: dict[str, Any] = {
        "problem": problem, "passed": False, "checks": [], "findings": [], "error": None, "divergence": None,
        "trace": [], "seconds": 0.0, "printed": "",
    }  # fmt: skip
    if len(source) > MOST_CHARACTERS:
        verdict["error"] = error_words("too-long", None, size=len(source), most=MOST_CHARACTERS)
        return verdict
    try:
        with start() as session, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the catalogue's mistakes, which torch warns of too
            draw = Draw(secrets.randbits(48) if seed is None else seed)
            _grade(Examination(Subject(session, contract, draw), problem), source, verdict)
            verdict["printed"] = session.printed
    except Stopped as stopped:  # it could not even be started
        verdict["error"] = _stopped(stopped)
    verdict["seconds"] = round(time.monotonic() - began, 4)
    return verdict


def _grade(exam: Examination, source: str, verdict: dict[str, Any]) -> None:
    """Fills the verdict in."""
    contract = exam.reference
    try:
        exam.run(source)
        verdict["passed"] = bool(exam.checks) and exam.passed
    except Stopped as stopped:
        verdict["error"] = _stopped(stopped)
    except Garbled:
        verdict["error"] = _stopped(Stopped("garbled", Limits(), 0.0))
    if verdict["error"] is None and not verdict["passed"]:
        verdict["error"] = _error(exam, contract.call, contract.arguments is not None)
        try:
            findings = diagnose(exam, source)
            verdict["findings"] = [finding_words(finding) for finding in findings]
            verdict["divergence"] = None if findings else _divergence(exam)
        except Stopped as stopped:
            verdict["error"] = verdict["error"] or _stopped(stopped)
        except Exception:  # noqa: BLE001  what a submission reports of itself is not always what it did
            traceback.print_exc(file=sys.stderr)
    verdict["checks"] = [check_words(check) for check in exam.checks]
    verdict["trace"] = _steps(exam)


def _stopped(stopped: Stopped) -> dict[str, Any]:
    en, zh = (
        ("; ".join(stopped.parts("en")[:2]) + ". " + stopped.parts("en")[2]),
        ("；".join(stopped.parts("zh")[:2]) + "。" + stopped.parts("zh")[2]),
    )
    return {"kind": stopped.kind, "line": None, "message": {"en": en, "zh": zh}}


def _error(exam: Examination, name: str, is_class: bool) -> dict[str, Any] | None:
    """The exception that a submission ended with before it could be looked at."""
    failed = next((exam.failed(id) for id in ("loads", "builds", "runs") if exam.failed(id)), None)
    if failed is None or failed.fault is None or failed.fault.reason != "raises":
        return None
    params = failed.fault.params
    kinds = {
        "SyntaxError": "syntax", "IndentationError": "syntax", "TabError": "syntax", "NotDefined": "not-defined",
        "WrongKind": "wrong-kind", "NotAModule": "not-a-module", "ModuleNotFoundError": "import",
        "ImportError": "import",
    }  # fmt: skip
    kind = kinds.get(params["error"], "raises")
    wanted = "class" if is_class else "function"
    return error_words(kind, params.get("line"), error=params["error"], text=params["text"], name=name, wanted=wanted)


def _divergence(exam: Examination) -> dict[str, str] | None:
    """Up to where the numbers are the reference's, in words; None where there are none to look at."""
    if exam.first is None or exam.first.call.out is None or exam.assignment is not None:
        return None
    last = last_alike(exam)
    if last is None:
        return words("divergence", "start")
    return words("divergence", "after", line=last.line, text=last.data["text"])


def _steps(exam: Examination) -> list[dict[str, Any]]:
    """The first call's steps, without their numbers."""
    if exam.first is None:
        return []
    return [
        {
            **{
                name: step[name]
                for name in ("op", "kind", "args", "line", "end_line", "col", "end_col", "text", "error")
            },
            "shape": step["outputs"][0]["shape"] if step["outputs"] else None,
            "stride": step["outputs"][0]["stride"] if step["outputs"] else None,
        }
        for step in exam.first.call.raw.get("trace", [])
    ]
