"""A verdict in words: plain data with every text in both languages."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.errors import LANGS, Lang
from core.judge._compare import Fault
from core.judge._examine import Check
from core.judge.diagnose.findings import Finding
from core.markup import plain
from core.pitfalls import entry

Text = dict[str, str]


def check_words(check: Check) -> dict[str, Any]:
    """{"id", "passed", "title", "detail"}; the detail says on what, and what came instead."""
    detail = None if check.fault is None else fault_words(check.fault, check.case)
    return {"id": check.id, "passed": check.passed, "title": _words()["checks"][check.id], "detail": detail}


def fault_words(fault: Fault, case: str = "") -> Text:
    params = {"difference": "nan", **{name: _shown(value) for name, value in fault.params.items()}}
    for name in ("found", "expected", "difference"):
        if isinstance(fault.params.get(name), float):
            params[f"{name}_number"] = params[name] = f"{fault.params[name]:.5g}"
    if "share" in fault.params:
        params["percent"] = f"{100 * fault.params['share']:.0f}"
    told = {}
    for lang in LANGS:
        detail = _words()["reasons"][fault.reason][lang].format(**params)
        told[lang] = _words()["cases"]["on" if case else "plain"][lang].format(case=case, detail=detail)
    return told


def finding_words(finding: Finding) -> dict[str, Any]:
    """{"pitfall", "line", "end_line", "col", "end_col", "confidence", "proof", "message"}; without a line, 0."""
    told = entry(finding.pitfall)
    line, end_line, col, end_col = finding.span or (0, 0, 0, 0)
    join = {"en": " ", "zh": ""}
    stop = {"en": ". ", "zh": "。"}
    message = {
        lang: plain(told.title[lang]) + stop[lang] + join[lang].join(
            (plain(told.why[lang]), plain(told.repair[lang]), _words()["proofs"][finding.proof][lang])
        )
        for lang in LANGS
    }  # fmt: skip
    return {
        "pitfall": finding.pitfall, "line": line, "end_line": end_line, "col": col, "end_col": end_col,
        "confidence": finding.confidence, "proof": finding.proof, "message": message,
    }  # fmt: skip


def error_words(kind: str, line: int | None, /, **params: object) -> dict[str, Any]:
    return {"kind": kind, "line": line, "message": words("errors", kind, **params)}


def words(group: str, key: str, /, **params: object) -> Text:
    return {lang: _words()[group][key][lang].format(**params) for lang in LANGS}


def in_language(verdict: Any, lang: Lang) -> Any:
    """The verdict with every text in one language."""
    if isinstance(verdict, dict):
        if set(verdict) == set(LANGS):
            return verdict[lang]
        return {key: in_language(value, lang) for key, value in verdict.items()}
    return [in_language(part, lang) for part in verdict] if isinstance(verdict, list) else verdict


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_shown(part) for part in value) + ("," if len(value) == 1 else "") + ")"
    return str(value)


@cache
def _words() -> dict[str, dict[str, dict[str, str]]]:
    return yaml.safe_load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"))
