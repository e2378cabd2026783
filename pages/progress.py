"""Progress: what is known, what comes back when, what went wrong most; export and import."""

from pages._ui import chrome
from pages._ui.progress import view

chrome.heading("progress")
view.show()
