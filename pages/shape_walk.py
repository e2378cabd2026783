"""Shape walk: step through a real run, tensor by tensor."""

from core.errors import BadInput
from pages._ui import cache, chrome
from pages._ui.walk import view

chrome.heading("shape_walk")
setup = view.controls()
try:
    trace = cache.walk(setup)
except BadInput as error:
    chrome.explain(error)
else:
    view.walk(trace)
