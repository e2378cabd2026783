"""Every page once: its file, its url path, its icon. Titles and help texts are in the locales under `nav.<id>`."""

from typing import NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages._ui.i18n import t


class PageLink(NamedTuple):
    file: str
    url_path: str  # "" for the page that opens first
    icon: str


PAGES: dict[str, PageLink] = {
    "home": PageLink("home.py", "", ":material/home:"),
    "question": PageLink("question.py", "question", ":material/help_center:"),
    "shape_walk": PageLink("shape_walk.py", "shape_walk", ":material/view_in_ar:"),
    "stride_lab": PageLink("stride_lab.py", "stride_lab", ":material/straighten:"),
    "head_maps": PageLink("head_maps.py", "head_maps", ":material/grid_on:"),
    "quiz": PageLink("quiz.py", "quiz", ":material/quiz:"),
    "coding_room": PageLink("coding_room.py", "coding_room", ":material/code:"),
    "progress": PageLink("progress.py", "progress", ":material/monitoring:"),
}


ROOMS = [page_id for page_id in PAGES if page_id != "home"]


def navigation_pages() -> list[StreamlitPage]:
    """The pages for `st.navigation`, titled in the language of this session."""
    return [
        st.Page(
            link.file,
            title=t(f"nav.{page_id}"),
            url_path=link.url_path or None,
            icon=link.icon,
            help=t(f"nav.{page_id}.help"),
            default=not link.url_path,
        )
        for page_id, link in PAGES.items()
    ]


def link_to(page_id: str, label: str | None = None, **query: str) -> None:
    """A link to a page of the app that keeps the session; `query` opens the page in that state."""
    link = PAGES[page_id]
    st.page_link(link.file, label=label or t(f"nav.{page_id}"), icon=link.icon, query_params=query or None)


def button_to(page_id: str, label: str, **query: str) -> None:
    """A button, where a link would not stand out enough; `query` as in `link_to`."""
    if st.button(label, type="primary"):
        st.switch_page(PAGES[page_id].file, query_params=query or None)
