"""python -m bench.app: how soon the app is there, beside a one-line Streamlit app, and how long a rerun takes.

Starts of both are interleaved. "up" is from the start of the process until the server answers; "drawn" until the home
page stands complete in a browser that is running already. A rerun is timed on the server, without a browser: the whole
script of a page, run again after a widget was used.
"""

import argparse
import logging
import os
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from streamlit.testing.v1 import AppTest

from bench.measure import print_ratio, quantile_95
from pages._ui.links import PAGES
from tools import browser as chromium
from tools.server import ROOT, serve

START_BUDGET = 1.5  # times a one-line app
RERUN_BUDGET = 0.150  # seconds that 95 % of reruns stay within
MOVED = {"shape_walk": ("step", range(1, 13)), "head_maps": ("layer", range(10))}
ONE_LINE = "import streamlit as st\nst.title('One line')\n"


def start(browser: Browser, script: Path) -> tuple[float, float]:
    """Seconds from the start of the process until the server is up, and until the first page is drawn."""
    began = time.perf_counter()
    with serve(script) as server:
        up = time.perf_counter() - began
        page = browser.new_page()
        page.goto(server.url)
        page.get_by_role("heading", level=1).wait_for()
        page.locator("[data-testid='stApp'][data-test-script-state='notRunning']").wait_for(state="attached")
        drawn = time.perf_counter() - began
        page.close()
    return up, drawn


def starts(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        one_line = Path(folder) / "one_line.py"
        one_line.write_text(ONE_LINE, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
        scripts = {"ours": ROOT / "app.py", "one line": one_line}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in scripts}
        for round_ in range(rounds + 1):
            for name, script in scripts.items():
                times = start(browser, script)
                if round_:  # the first fills the disk's cache
                    taken[name].append(times)
        browser.close()
    for i, moment in enumerate(("server up", "first page drawn")):
        ours, theirs = (statistics.median(times[i] for times in taken[name]) for name in scripts)
        print_ratio(f"{moment:34} {ours:8.2f} s  / {theirs:8.2f} s ", ours / theirs, START_BUDGET)


def reruns(rounds: int) -> None:
    """Every page run again and again; where a widget decides what is computed, it is moved each time."""
    for page_id, link in PAGES.items():
        app = AppTest.from_file(ROOT / "pages" / "_frame.py", default_timeout=120).run()
        app.switch_page(link.file)
        app.run()
        times = []
        for round_ in range(rounds):
            if page_id in MOVED:
                key, values = MOVED[page_id]
                app.session_state[key] = values[round_ % len(values)]
            began = time.perf_counter()
            app.run()
            times.append(time.perf_counter() - began)
        slow = quantile_95(times)
        over = "" if slow <= RERUN_BUDGET else "  OVER"
        print(f"rerun of {page_id:25} 95 % within {slow * 1e3:6.1f} ms  (budget {RERUN_BUDGET * 1e3:g} ms){over}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="how soon the app is there, and how long a rerun takes")
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--reruns", type=int, default=40)
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit warns of each run that no browser asked for
    starts(given.starts)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADWISE_DB"] = f"sqlite:///{folder}/headwise.db"  # the user's own stays as it is
        reruns(given.reruns)
