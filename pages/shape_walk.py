"""Shape walk: step through a real run, tensor by tensor; through a mistake beside the right code; through own code."""

from functools import partial

import streamlit as st

from core.errors import BadInput
from pages._ui import cache, chrome
from pages._ui.walk import mistake_view, own, view
from pages._ui.walk.stepper import stepped

with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    with st.container(width="content"):
        chrome.heading("shape_walk")
    source = own.source_choice()
chosen = mistake_view.chosen()
setup, draft = None, None
with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
    if source == own.OWN:
        draft = own.setup_choice()
    else:
        setup = view.setup_choice() if chosen == mistake_view.NONE else None
        mistake_view.switch()
try:
    if draft is not None:
        own.page(draft)
    elif setup is not None:
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
