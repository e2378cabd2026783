"""Quiz: questions on shapes, strides, masks and cost, each with the run that proves its answer."""

from core.quiz import load_bank
from pages._ui import chrome
from pages._ui.quiz import view

chrome.heading("quiz")
bank = load_bank()
if bank.questions:
    view.practise(bank)
view.left_out(bank)
