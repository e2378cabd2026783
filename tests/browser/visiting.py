"""Looking at the app as a person does, on a server that is new."""

import re
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, expect

from tests.architecture import ROOT
from tests.wording import catalogues
from tools.server import Server, serve

WORDS = catalogues(ROOT)

# Under the path of a page Streamlit's front end probes for these, to find out at which path the server sits.
_PROBES = re.compile(r"/(?:_stcore/health|_stcore/host-config)$")


class Visit:
    """One page of the app in a browser of its own; remembers what it complained about and whom it talked to."""

    def __init__(self, server: Server, page: Page) -> None:
        self.server, self.page = server, page
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        url = message.location["url"]
        probe = "404" in message.text and _PROBES.search(urlsplit(url).path) and url.startswith(self.server.url)
        if message.type == "error" and not probe:
            self.complaints.append(f"{message.text} ({url})")

    def _asked(self, request: Request) -> None:
        asked = urlsplit(request.url)
        if asked.scheme not in ("data", "blob") and asked.netloc != urlsplit(self.server.url).netloc:
            self.complaints.append(f"asked another host for {request.url}")

    def open(self, path: str) -> Page:
        """Go to a path of the app and wait until it has been drawn."""
        self.page.goto(f"{self.server.url}{path}")
        expect(self.page.get_by_test_id("stHeading").or_(self.page.get_by_role("alert")).first).to_be_visible()
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the script has run to its end and is painted: a key's shortcut is bound with its button."""
        expect(self.page.locator("[data-testid='stApp'][data-test-connection-state='CONNECTED']")).to_be_attached()
        expect(self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_attached()
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def check(self) -> None:
        """Nothing went wrong that a person would see, or that a console would say."""
        expect(self.page.get_by_test_id("stException")).to_have_count(0)
        expect(self.page.get_by_role("dialog")).to_have_count(0)
        assert self.complaints == [], self.complaints
        assert "Traceback" not in self.server.log()


Open = Callable[..., Visit]


def is_titled(page: Page, page_id: str, lang: str) -> None:
    """The page's first heading is its title in this language, and the browser's tab says which page it is."""
    expect(page).to_have_title(f"{WORDS[lang][f'nav.{page_id}']} · Headwise")
    title = WORDS[lang]["home.title" if page_id == "home" else f"nav.{page_id}"]
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def empty(store: str) -> None:
    """Take everything out of a store that is a file of SQLite."""
    path = store.removeprefix("sqlite:///")
    if not Path(path).exists():  # no page has asked for it yet
        return
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            if name not in ("headwise_version", "sqlite_sequence"):
                connection.execute(f'DELETE FROM "{name}"')


@contextmanager
def cold_server() -> Generator[Server]:
    """A server that nobody has opened a page of; at its end its log must hold no traceback."""
    with serve() as server:
        yield server
        assert "Traceback" not in server.log(), server.log()
