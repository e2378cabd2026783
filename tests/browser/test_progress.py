"""The progress page with something on it: it fits a phone, a click on a map chooses, and Home leads to what is due."""

import json
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from core.errors import LANGS
from core.progress import GivenAnswer, open_store
from core.quiz import load_bank
from tests.browser.test_every_page import overhang
from tests.browser.visiting import WORDS, Open, cold_server
from tools.server import Server

pytestmark = pytest.mark.browser
PITFALL = "split-no-transpose"  # the first of the first area


@pytest.fixture
def server() -> Generator[Server]:
    """A new one for each test: Home is then drawn before the store is there."""
    with cold_server() as server:
        yield server


def fill(server: Server) -> None:
    """Some answers to every topic, half of them wrong, and some code."""
    store, now = open_store(server.store), datetime.now(UTC)
    for i, question in enumerate(load_bank().questions[::7]):
        store.answer(
            GivenAnswer(
                question=question.id,
                card=question.id,
                given="x",
                right=i % 2 == 0,
                seconds=20.0,
                mode="learn",
                pitfalls=question.pitfalls,
                topic=question.topic,
                kind=question.kind,
                level=question.level,
                at=now - timedelta(hours=5 * i),
            )
        )
    for i in range(4):
        hours = timedelta(hours=i)
        store.submit("mha", "class X: ...", {}, i == 2, (PITFALL,), now - hours, "write", seconds=300.0)
    store.close()


def test_a_filled_page_fits_a_phone(visit: Open, server: Server) -> None:
    seen = visit(viewport={"width": 390, "height": 844})
    fill(server)
    for lang in LANGS:
        page = seen.open(f"/progress?lang={lang}")
        expect(page.locator(".js-plotly-plot")).to_have_count(6)
        assert overhang(page) == ""
    seen.check()


def test_the_first_map_is_seen_without_scrolling_and_a_click_on_it_chooses(visit: Open, server: Server) -> None:
    seen = visit(viewport={"width": 1280, "height": 900})
    fill(server)
    page = seen.open("/progress")
    plots = page.locator(".js-plotly-plot")
    expect(plots).to_have_count(6)
    box = plots.first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900
    cells = plots.nth(3)
    cells.scroll_into_view_if_needed()
    cells.hover(position={"x": 20, "y": 37})  # the first cell under the first heading
    expect(page.locator(".hovertext")).to_be_visible()
    cells.click(position={"x": 20, "y": 37})
    expect(page.get_by_role("link", name=WORDS["en"]["progress.way.walk"]).first).to_have_attribute(
        "href", f"shape_walk?mistake={PITFALL}"
    )
    seen.check()


def test_what_is_exported_is_known_when_it_is_imported(visit: Open, server: Server, tmp_path: Path) -> None:
    seen = visit(locale="zh-CN")
    fill(server)
    page = seen.open("/progress")
    with page.expect_download() as download:
        page.get_by_role("button", name=WORDS["zh"]["progress.export.button"]).click()
    file = tmp_path / "progress.json"
    download.value.save_as(file)
    assert len(json.loads(file.read_text(encoding="utf-8"))["submissions"]) == 4
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text(WORDS["zh"]["progress.imported.nothing"])).to_be_visible()
    seen.check()


def test_home_leads_to_what_is_due_once_the_store_is_there(visit: Open, server: Server) -> None:
    seen = visit()
    fill(server)
    page = seen.open("/")
    store = open_store(server.store)
    due = len(store.due(datetime.now(UTC)))
    store.close()
    page.get_by_role("link", name=WORDS["en"]["home.go_on.due"].format(count=due)).click()
    expect(page.get_by_role("heading", name=WORDS["en"]["nav.quiz"])).to_be_visible()
    assert "practice=review" in page.url
    seen.check()
