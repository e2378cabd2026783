from pages._ui import chrome

chrome.heading("quiz")
