"""A deep link, opened first on a cold server, shows its page in its frame; what AppTest cannot see."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from core.errors import LANGS
from pages._ui.links import PAGES
from tests.browser.visiting import WORDS, Open, cold_server, is_titled
from tools.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=PAGES)
def page_id(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def server(page_id: str) -> Generator[Server]:
    """A server for each page, so that each is once the first that anybody opens."""
    with cold_server() as server:
        yield server


@pytest.mark.parametrize("lang", LANGS[::-1])
def test_a_deep_link_opened_first(visit: Open, page_id: str, lang: str) -> None:
    seen = visit()
    page = seen.open(f"/{PAGES[page_id].url_path}?lang={lang}")
    is_titled(page, page_id, lang)
    sidebar = page.get_by_test_id("stSidebar")
    for other in PAGES:
        expect(sidebar.get_by_role("link", name=WORDS[lang][f"nav.{other}"], exact=False)).to_be_visible()
    expect(sidebar.get_by_test_id("stSidebarNavLink")).to_have_count(len(PAGES))
    seen.check()
