"""The question: what is asked, a standard answer that runs, its pitfalls and follow-ups, glossary and reading."""

import streamlit as st

from pages._ui import chrome, question, state
from pages._ui.i18n import t

chrome.heading("question")
question.asked()
sections = list(question.SECTIONS)
state.linked(state.QUESTION_SECTION, sections, sections[0])
st.segmented_control(
    t("question.section"),
    sections,
    format_func=lambda section: t(f"question.section.{section}"),
    key=state.QUESTION_SECTION,
    required=True,
    persist_state="session",
    label_visibility="collapsed",
)
state.link(state.QUESTION_SECTION, sections[0])
question.SECTIONS[state.choice(state.QUESTION_SECTION, sections, sections[0])]()
