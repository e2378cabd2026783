"""The frame round every page: language, navigation, and a last net under errors."""

import streamlit as st

from pages._ui import chrome, links

st.set_page_config(page_icon=chrome.ICON, layout="wide", initial_sidebar_state=chrome.SIDEBAR_WIDTH)
chrome.choose_language()
page = st.navigation(links.navigation_pages())
st.set_page_config(page_title=f"{page.title} · Headwise")
chrome.sidebar()
chrome.run(page)
