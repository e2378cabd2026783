from pages._ui import chrome

chrome.heading("head_maps")
