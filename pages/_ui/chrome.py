"""What every page has round it: the language switch, the sidebar's head, the heading, and words for what goes wrong."""

import logging
from collections.abc import Iterable
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from core.errors import LANGS, Explained
from pages._ui import i18n, state
from pages._ui.i18n import t

ICON = str(Path(__file__).with_name("icon.svg"))  # a file of our own: the icon fonts of others lie on the network
SIDEBAR_WIDTH = 210
_STYLE = Path(__file__).with_name("style.css")


def choose_language() -> None:
    """Settle the language before anything is worded: the URL, else this session, else the browser, else English."""
    state.linked(state.LANG, LANGS, i18n.from_locale(st.context.locale))


def sidebar() -> None:
    """The product's line and the language switch."""
    st.html(_STYLE)
    with st.sidebar:
        st.segmented_control(
            t("frame.language"),
            LANGS,
            format_func=i18n.NAMES.__getitem__,
            key=state.LANG,
            required=True,
            label_visibility="collapsed",
        )
        state.link(state.LANG, i18n.from_locale(st.context.locale))
        st.caption(t("frame.motto"))


def heading(page_id: str) -> None:
    """The page's title and its one line of what one does here."""
    st.title(t(f"nav.{page_id}"), anchor=False)
    st.caption(t(f"{page_id}.lead"))


def run(page: StreamlitPage) -> None:
    """Run the page; what it fails with is told in words, and the traceback goes to the server's log."""
    try:
        page.run()
    except Explained as error:
        explain(error)
    except Exception:  # the last net: a page never ends in a bare traceback
        logging.getLogger("headwise").exception("page %s failed", page.url_path)
        st.error(t("frame.unexpected"), icon=":material/error:")


def explain(error: Explained) -> None:
    """An error that stops the page, in its three parts: what was given, what was expected, what to do."""
    st.error(three_parts(error), icon=":material/error:")


def notices(errors: Iterable[Explained]) -> None:
    """What does not stop the page, but has to be known."""
    for error in errors:
        st.warning(three_parts(error), icon=":material/warning:")


def teach(error: Explained) -> None:
    """The same for an error that is the point of the page, such as one that a mistake is meant to raise."""
    st.warning(three_parts(error), icon=":material/school:")


def three_parts(error: Explained) -> str:
    """The words of `explain` and `teach` as Markdown."""
    given, expected, action = error.parts(i18n.lang())
    lines = (("frame.given", given), ("frame.expected", expected), ("frame.action", action))
    return "  \n".join(f"**{t(label)}** {_plain(words)}" for label, words in lines)


def _plain(words: str) -> str:
    """Words in which only `code` is taken for Markdown: they may quote what a person typed."""
    parts = words.split("`")
    if len(parts) % 2 == 0:  # a mark without a partner
        return _escaped(words)
    return "`".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _escaped(words: str) -> str:
    return "".join("\\" + c if c in "\\`*_{}[]()<>#+-.!|$:~" else c for c in words)
