"""Every cached loader, each bounded. Shared objects are frozen: nobody writes to what comes from here."""

import streamlit as st

from core.trace import Trace
from pages._ui.walk.runs import Setup, run


@st.cache_resource(max_entries=64, show_spinner=False)
def walk(setup: Setup) -> Trace:
    """The trace of a set-up; the same set-up is run once."""
    trace = run(setup)
    _ = trace.steps  # built here, while one session waits, and not by several at once
    return trace
