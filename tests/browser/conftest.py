"""A new server for each test module, and a Chromium that looks at it."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.browser.visiting import Open, Visit, cold_server, empty
from tools import browser as chromium
from tools.server import Server

PATIENCE = 30_000  # ms until a page has settled; the first that needs torch waits for its import


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with cold_server() as server:
        yield server


@pytest.fixture
def visit(browser: Browser, server: Server) -> Generator[Open]:
    """`visit(**options)`: a browser profile of its own, with options of a playwright context (viewport, locale, …).

    The server has forgotten what was done in other tests.
    """
    empty(server.store)
    contexts: list[BrowserContext] = []

    def start(**options: object) -> Visit:
        contexts.append(browser.new_context(**options))  # ty: ignore[invalid-argument-type]
        return Visit(server, contexts[-1].new_page())

    yield start
    for context in contexts:
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and report.when != "teardown" and isinstance(server, Server):
        report.sections.append(("server's log", server.log()))
    return report
