"""The parts of the question page, drawn from the content files and from runs."""

from collections.abc import Callable

import streamlit as st

from core import content
from core.content import Outcome, Pitfall
from core.costs import bytes_text, flops_text
from core.pitfalls import IDS
from pages._ui import cache, links
from pages._ui.i18n import lang, t
from pages._ui.text import bullets, table, write


def asked() -> None:
    """The question as an interviewer puts it."""
    question = content.load_question()
    with st.container(border=True):
        write(f"**{question.title[lang()]}.** {question.question[lang()]}")


def answer() -> None:
    """Key points and the answer in words, beside the code, which runs here."""
    question = content.load_question()
    words, code = st.columns([4, 5], gap="large")
    with words:
        st.subheader(t("question.key_points"), anchor=False)
        bullets(point.text[lang()] for point in question.key_points)
        st.subheader(t("question.answer"), anchor=False)
        for paragraph in question.answer:
            write(paragraph[lang()])
        st.subheader(t("question.listens_for"), anchor=False)
        for level in ("expected", "strong", "warning"):
            write(f"**{t(f'question.level.{level}')}**")
            bullets(entry.text[lang()] for entry in question.listens_for if entry.level == level)
    with code:
        st.subheader(t("question.code"), anchor=False)
        st.code(content.standard_answer_source(), "python", line_numbers=True, wrap_lines=True)
        with st.spinner(t("question.running")):
            printed = cache.answer_output()
        st.caption(t("question.ran"))
        st.code(printed, None)
        st.subheader(t("question.steps"), anchor=False)
        for step in question.steps:
            first, last = content.step_lines(step.id)
            write(f"**{step.title[lang()]}** · {t('question.lines', first=first, last=last)}  \n{step.say[lang()]}")
        links.link_to("shape_walk", t("question.to_walk"), mistake="none")


def pitfalls() -> None:
    """Each mistake: what it changes in the code, what its run shows, and the repair."""
    st.caption(t("question.pitfalls.how", **content.SIZES))
    for pitfall in content.load_question().pitfalls:
        with st.container(border=True):
            tag = f'<span class="hw-tag hw-error">{pitfall.id}</span>'
            write(pitfall.title[lang()], f"#### {{}} &nbsp;{tag}")
            _pitfall(pitfall)


def _pitfall(pitfall: Pitfall) -> None:
    with st.spinner(t("question.running")):
        outcome = cache.outcome(pitfall.id)
    words, run = st.columns(2, gap="medium")
    with words:
        write(pitfall.happens[lang()])
        write(f"**{t('question.repair')}** {pitfall.repair[lang()]}")
        if pitfall.id in IDS:
            links.link_to("shape_walk", f"{t('question.see')} {pitfall.title[lang()]}", mistake=pitfall.id)
    with run:
        st.code(f"- {outcome.right_line}\n+ {outcome.wrong_line}", "diff", wrap_lines=True)
        _runs(outcome)


def _runs(outcome: Outcome) -> None:
    for run in outcome.runs:
        words = t(
            f"question.effect.{run.effect}",
            shape=run.shape,
            difference=f"{run.difference or 0:.2g}",
            largest=f"{run.largest or 0:.2g}",
            nan=f"{run.nan_share or 0:.0%}",
        )
        write(f"**{t(f'question.mask.{run.mask}')}** {words}")
        if run.error:
            st.code(run.error, None, wrap_lines=True)


def followups() -> None:
    """Follow-up questions, their answers, and the numbers they rest on."""
    tables: dict[str, Callable[[], str]] = {"heads": _heads_table, "kv-cache": _cache_table}
    for followup in content.load_question().followups:
        with st.container(border=True):
            write(followup.question[lang()], "#### {}")
            for paragraph in followup.answer:
                write(paragraph[lang()])
            st.html(tables[followup.table]())


def _heads_table() -> str:
    head = [t(f"question.heads.{column}") for column in ("n_heads", "d_h", "flops", "parameters", "scores", "bytes")]
    rows = [
        (
            row.n_heads,
            row.d_h,
            flops_text(row.attention_flops),
            f"{row.projection_parameters:,}",
            f"{row.scores:,}",
            bytes_text(row.score_bytes),
        )
        for row in content.heads_table()
    ]
    return table(head, rows)


def _cache_table() -> str:
    head = [t(f"question.cache.{column}") for column in ("model", "kind", "heads", "token", "as_mha", "context")]
    rows = [
        (
            row.model.name,
            row.model.kind,
            f"{row.model.n_heads} / {row.model.n_kv_heads}",
            bytes_text(row.bytes_per_token),
            bytes_text(row.bytes_per_token_as_mha),
            f"{bytes_text(row.bytes_at_context)} ({row.model.context:,})",
        )
        for row in content.cache_table()
    ]
    return table(head, rows)


def glossary() -> None:
    """The field's words, as they are said in each language."""
    for term in content.load_glossary():
        other = term.term["zh" if lang() == "en" else "en"]
        write(f"**{term.term[lang()]}** · {other}  \n{term.definition[lang()]}")


def reading() -> None:
    """What to read next, and what tends to be asked next."""
    papers, related = st.columns(2, gap="large")
    with papers:
        st.subheader(t("question.reading"), anchor=False)
        for item in content.load_reading():
            year = f", {item.year}" if item.year else ""
            write(item.why[lang()], f"[{item.title}]({item.url}) · {item.authors}{year}  \n{{}}")
    with related:
        st.subheader(t("question.related"), anchor=False)
        for entry in content.load_related():
            write(f"**{entry.question[lang()]}**  \n{entry.hint[lang()]}")
            links.link_to(entry.page)


SECTIONS: dict[str, Callable[[], None]] = {
    "answer": answer,
    "pitfalls": pitfalls,
    "followups": followups,
    "glossary": glossary,
    "reading": reading,
}
