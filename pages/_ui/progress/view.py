"""The progress page from top to bottom."""

import streamlit as st

from pages._ui import cache, chrome, links
from pages._ui.i18n import t
from pages._ui.progress import days, keeping, known, practice, profile


def show() -> None:
    """All of it; where nothing was done yet, how to begin."""
    chrome.notices(cache.store().notices)
    of = profile.read()
    if of.empty:
        _begin()
    elif of.topics:
        _figures(of)
    keeping.show(of.bank)


def _begin() -> None:
    with st.container(border=True):
        st.markdown(f"**{t('progress.empty')}**")
        st.markdown(t("progress.empty.how"))
        links.button_to("quiz", t("progress.empty.quiz"))
        with st.container(horizontal=True):
            links.link_to("coding_room", t("progress.empty.code"))
            links.link_to("question", t("progress.empty.question"))


def _figures(of: profile.Profile) -> None:
    days.today(of)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        known.topics(of)
    with right:
        days.ahead(of)
        days.done(of)
    if of.pitfalls:
        known.by_pitfall(of)
    practice.mistakes(of)
    practice.solving(of)
