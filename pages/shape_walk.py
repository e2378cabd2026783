"""Shape walk: step through a real run, tensor by tensor, or through a mistake beside the right code."""

from functools import partial

import streamlit as st

from core.errors import BadInput
from pages._ui import cache, chrome
from pages._ui.walk import mistake_view, view
from pages._ui.walk.stepper import stepped

chrome.heading("shape_walk")
chosen = mistake_view.chosen()
with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
    setup = view.setup_choice() if chosen == mistake_view.NONE else None
    mistake_view.switch()
try:
    if setup is not None:
        trace = cache.walk(setup)
        stepped(partial(view.walk, trace), last=len(trace), beside=view.colour_choice)
    else:
        mistake = mistake_view.load(chosen)
        mistake_view.told(mistake)
        if mistake.last:
            stepped(
                partial(mistake_view.compare, mistake),
                last=mistake.last,
                start=mistake.at + 1,
                beside=view.colour_choice,
            )
except BadInput as error:
    chrome.explain(error)
