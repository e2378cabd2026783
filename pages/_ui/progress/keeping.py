"""Where progress is kept, and how it leaves this computer and comes back: export, import, a package for Anki."""

import html
from collections.abc import Iterator
from datetime import UTC, datetime

import streamlit as st

from core.errors import LANGS, BadInput, Explained, Lang, Unavailable
from core.progress import Imported
from core.quiz import Bank, Question
from pages._ui import cache, chrome, i18n, state
from pages._ui.i18n import lang, t

MAX_MEGABYTES = 200  # no file that the store takes is larger
_ALL = "all"
_PARTS = ("answers", "submissions", "made_due", "drafts", "settings")


def show(bank: Bank) -> None:
    """Export and import side by side, Anki below, and the place of the store."""
    st.subheader(t("progress.keep"), anchor=False)
    place = cache.store().place
    if place is None:
        st.caption(t("progress.place.none"))
    else:
        where = f'<span class="hw-mono">{html.escape(place)}</span>'
        st.html(f'<div class="hw-note hw-mute">{t("progress.place")} {where}</div>')
    out, back = st.columns(2, gap="medium")
    with out:
        _export()
        _anki(bank)
    with back:
        _import()


def _export() -> None:
    with st.container(border=True):
        st.markdown(f"**{t('progress.export')}**")
        st.caption(t("progress.export.help"))
        st.download_button(
            t("progress.export.button"),
            cache.store().export,  # made when it is asked for
            file_name=f"headwise-progress-{datetime.now().date().isoformat()}.json",
            mime="application/json",
            key="progress_export",
            on_click="ignore",
            icon=":material/download:",
        )


# Import --------------------------------------------------------------------------------------------------------------


def _import() -> None:
    with st.container(border=True):
        st.markdown(f"**{t('progress.import')}**")
        st.file_uploader(
            t("progress.import.help"),
            type="json",
            max_upload_size=MAX_MEGABYTES,
            key=state.PROGRESS_FILE,
            on_change=_take_in,
        )
        report = state.get(state.PROGRESS_IMPORTED, None)
        if isinstance(report, Explained):
            chrome.explain(report)
        elif isinstance(report, Imported):
            st.success(_said(report), icon=":material/check:")


def _take_in() -> None:
    """Merge the file that was just given; what came of it is told on every run until there is another. A callback."""
    file = state.get(state.PROGRESS_FILE, None)
    if file is None:
        state.forget(state.PROGRESS_IMPORTED)
        return
    try:
        state.put(state.PROGRESS_IMPORTED, cache.store().import_(text_of(file.getvalue())))
    except (BadInput, Unavailable) as error:
        state.put(state.PROGRESS_IMPORTED, error)


def text_of(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("progress.import-foreign") from error


def _said(report: Imported) -> str:
    added = [t(f"progress.added.{part}", count=report.added[part]) for part in _PARTS if report.added.get(part)]
    if not added:
        return t("progress.imported.nothing")
    return t("progress.imported", added=t("progress.and").join(added), known=sum(report.known.values()))


# Anki ----------------------------------------------------------------------------------------------------------------


def _anki(bank: Bank) -> None:
    topics = {_ALL: t("progress.anki.all")} | {topic.id: topic.name[lang()] for topic in bank.topics}
    with st.container(border=True):
        st.markdown(f"**{t('progress.anki')}**")
        st.caption(t("progress.anki.help"))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            topic = st.selectbox(
                t("progress.topic"),
                list(topics),
                format_func=topics.__getitem__,
                key="progress_anki_topic",
                width=220,
            )
            language = st.segmented_control(
                t("progress.anki.language"),
                LANGS,
                default=lang(),
                format_func=i18n.NAMES.__getitem__,
                key="progress_anki_language",
                required=True,
            )
        wanted = [question for question in bank.questions if topic in (_ALL, question.topic)]
        if st.button(t("progress.anki.make", count=len(wanted)), key="progress_anki_make", disabled=not wanted):
            state.put(state.PROGRESS_PACKAGE, {(topic, language): _package(wanted, language or lang())})
        package = state.get(state.PROGRESS_PACKAGE, {}).get((topic, language))
        if package:
            st.download_button(
                t("progress.anki.button"),
                package,
                file_name=f"headwise-{topic}-{language}.apkg",
                mime="application/octet-stream",
                key="progress_anki",
                on_click="ignore",
                icon=":material/download:",
            )


def _package(questions: list[Question], language: Lang) -> bytes:
    """The package, with a bar that grows by each question whose proof is run for it."""
    from core.progress import anki

    bar = st.progress(0.0, t("progress.anki.running"))

    def counted() -> Iterator[Question]:
        for i, question in enumerate(questions):
            bar.progress(i / len(questions), t("progress.anki.running"))
            yield question

    try:
        return anki.deck(counted(), language, datetime.now(UTC))
    finally:
        bar.empty()
