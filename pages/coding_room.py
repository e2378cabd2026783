"""Coding room: write attention, or repair it; the judge runs it and names the mistake, its line and the proof."""

from pages._ui import chrome
from pages._ui.coding import view

chrome.heading("coding_room")
view.room()
