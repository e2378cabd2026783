"""Home: what Headwise is, and the way to each page."""

import streamlit as st

from pages._ui import home, links
from pages._ui.i18n import t
from pages._ui.text import write

ACROSS = 4  # cards in a row

words, picture = st.columns([3, 2], gap="large", vertical_alignment="center")
with words:
    st.title(t("home.title"), anchor=False)
    write(t("home.what"))
    write(t("home.proof"))
    links.button_to("question", t("home.start"))
    left_off = st.container()
with picture:
    st.html(home.moving_picture())

for start in range(0, len(links.ROOMS), ACROSS):
    for column, page_id in zip(st.columns(ACROSS, gap="small"), links.ROOMS[start : start + ACROSS], strict=False):
        with column, st.container(border=True, height="stretch"):
            links.link_to(page_id)
            st.caption(t(f"home.{page_id}"))

with left_off:
    home.go_on()
