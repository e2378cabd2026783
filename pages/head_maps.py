"""Head maps: every attention head of a real model, on your own text."""

from core.errors import Explained
from pages._ui import cache, chrome
from pages._ui.maps import view

chrome.heading("head_maps")
wanted = view.controls()
try:
    view.fetch(wanted.model_id)
    with view.reading():
        attention = cache.attention(wanted.model_id, wanted.text)
except Explained as error:
    chrome.explain(error)
    view.way_on(error)
else:
    view.maps(wanted, attention)
