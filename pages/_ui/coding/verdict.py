"""A verdict as it stands on the page: passed or not, the mistakes, what was tried, what it printed."""

import html

import streamlit as st

from core import pitfalls
from core.markup import plain
from core.quiz import load_bank
from pages._ui import editor, links
from pages._ui.coding import choosing, debugging
from pages._ui.coding.choosing import Room
from pages._ui.coding.debugging import Task
from pages._ui.coding.judging import Judged, Verdict, named
from pages._ui.i18n import lang, t
from pages._ui.text import write


def show(room: Room, judged: Judged, changed: bool) -> None:
    """The whole of it. `changed` says that the editor holds another text by now."""
    verdict = judged.verdict
    _headline(verdict)
    if changed:
        st.caption(t("coding.changed"))
    if verdict["passed"]:
        _passed(room, judged)
    if verdict["error"]:
        _error(room, verdict)
    if named(room):
        for number, finding in enumerate(verdict["findings"]):
            _finding(room, finding, number)
        if divergence := verdict.get("divergence"):
            st.html(f'<div class="hw-note">{said(divergence[lang()])}</div>')
    elif verdict["findings"] or verdict.get("divergence"):
        st.caption(t("coding.debug.kept"))
    if verdict["checks"]:
        st.html(_checks(verdict))
    if verdict["printed"]:
        st.caption(t("coding.printed"))
        st.code(verdict["printed"], None, wrap_lines=True, height=None if len(verdict["printed"]) < 600 else 200)


def said(text: str) -> str:
    """HTML of words that may quote a person's code; `code` in them is shown as code."""
    parts = html.escape(text).split("`")
    if len(parts) % 2 == 0:  # a mark without a partner
        return html.escape(text)
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _headline(verdict: Verdict) -> None:
    failed = sum(not check["passed"] for check in verdict["checks"])
    facts = []
    if verdict["checks"]:
        facts.append(t("coding.checks.count", right=len(verdict["checks"]) - failed, last=len(verdict["checks"])))
    if verdict["seconds"]:
        facts.append(t("coding.seconds", seconds=f"{verdict['seconds']:.2f}"))
    css, words = ("hw-right", t("coding.passed")) if verdict["passed"] else ("hw-wrong", t("coding.failed"))
    if (verdict["error"] or {}).get("kind") == "judge-failed":
        css, words = "hw-wrong", t("coding.not_judged")
    st.html(
        f'<div class="hw-banner {css}" role="status"><span class="hw-verdict {css}">{words}</span>'
        f'<span class="hw-small">{" · ".join(facts)}</span></div>'
    )


def _passed(room: Room, judged: Judged) -> None:
    if room.task is not None:
        _repaired(room.task, judged.source)
        st.button(t("coding.debug.next"), key="coding_next", icon=":material/casino:", on_click=choosing.another)
    elif (then := choosing.following(room)) is not None:
        label = t("coding.next", title=then.title[lang()])
        st.button(label, key="coding_next", on_click=choosing.go, args=(then.id,))


def _repaired(task: Task, source: str) -> None:
    """How the repair compares with the smallest one, which is shown where it is smaller."""
    touched = debugging.lines_changed(task.source, source)
    small = touched <= task.lines + 1
    st.markdown(t("coding.debug.small" if small else "coding.debug.large", lines=touched, enough=task.lines))
    if not small:
        with st.expander(t("coding.debug.diff")):
            st.code(debugging.diff(task.source, task.right), "diff", wrap_lines=True)


def _error(room: Room, verdict: Verdict) -> None:
    error = verdict["error"]
    with st.container(border=True, gap="xsmall"):
        if error["line"]:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                _line(room, error["line"], "error")
        st.html(f'<div class="hw-said">{said(error["message"][lang()])}</div>')


def _finding(room: Room, finding: dict, number: int) -> None:
    """One mistake: what and where, how sure, why, how to repair it, and where to see and practise it."""
    entry = pitfalls.entry(finding["pitfall"])
    with st.container(border=True, key=f"coding_finding_{number}", gap="xsmall"):
        write(f"**{unmarked(entry.title[lang()])}**")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if finding["line"]:
                _line(room, finding["line"], str(number))
            sure = t(f"coding.confidence.{finding['confidence']}")
            st.html(f'<span class="hw-small">{sure}</span>', width="content")
            st.html(f'<span class="hw-tag hw-error">{entry.id}</span>', width="content")
        write(entry.why[lang()])
        write(f"**{t('coding.repair')}** {entry.repair[lang()]}")
        if proof := _proof(finding, entry):
            st.caption(proof)
        ways(entry)


def ways(entry: pitfalls.Entry) -> None:
    """To the mistake in the Shape walk, and to a question about it."""
    with st.container(horizontal=True, gap="small"):
        links.link_to("shape_walk", t("coding.see"), mistake=entry.id)
        asked = next((question for question in load_bank().questions if entry.id in question.pitfalls), None)
        if asked:
            links.link_to("quiz", t("walk.mistake.quiz"), question=asked.id)


def _line(room: Room, line: int, number: str) -> None:
    st.button(
        t("coding.line", line=line),
        key=f"coding_line_{number}",
        type="tertiary",
        icon=":material/my_location:",
        help=t("coding.line.help"),
        on_click=editor.focus,
        args=(room.key, line),
    )


def unmarked(title: str) -> str:
    """A title without bold of its own, to stand inside bold."""
    return title.replace("**", "")


def _proof(finding: dict, entry: pitfalls.Entry) -> str:
    """How it is known: what the message says after the repair."""
    _, found, proof = finding["message"][lang()].rpartition(plain(entry.repair[lang()]))
    return proof.strip() if found else ""


def _checks(verdict: Verdict) -> str:
    rows = []
    for check in verdict["checks"]:
        css, sign, word = ("hw-right", "✓", "passed") if check["passed"] else ("hw-wrong", "✗", "failed")
        detail = f"<div>{said(check['detail'][lang()])}</div>" if check["detail"] else ""
        rows.append(
            f'<li class="{css}"><em role="img" aria-label="{t(f"coding.check.{word}")}">{sign}</em>'
            f"<span>{said(check['title'][lang()])}{detail}</span></li>"
        )
    return f'<strong>{t("coding.checks")}</strong><ul class="hw-checks">{"".join(rows)}</ul>'
