"""What holds for every page in a browser: it fits a phone, follows the browser's language and scheme."""

import pytest
from playwright.sync_api import Page

from core.errors import LANGS
from pages._ui.links import PAGES
from tests.browser.visiting import Open, is_titled

pytestmark = pytest.mark.browser
each_page = pytest.mark.parametrize("page_id", PAGES)


def overhang(page: Page) -> str:
    """What sticks out at the right and makes the page scroll sideways; "" when it fits."""
    return page.evaluate("""() => {
        const main = document.querySelector('[data-testid="stMain"]');
        const whole = document.scrollingElement;
        if (whole.scrollWidth <= window.innerWidth && main.scrollWidth <= main.clientWidth) return '';
        const width = Math.min(window.innerWidth, main.clientWidth);
        const out = [...main.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > width + 1);
        return out.map(e => e.tagName + '.' + e.className + ' ' + e.innerText?.slice(0, 40)).join('\\n') || 'something';
    }""")


@each_page
@pytest.mark.parametrize("lang", LANGS)
def test_a_phone_needs_no_sideways_scrolling(visit: Open, page_id: str, lang: str) -> None:
    seen = visit(viewport={"width": 390, "height": 844})
    page = seen.open(f"/{PAGES[page_id].url_path}?lang={lang}")
    assert overhang(page) == ""
    seen.check()


def test_the_measure_sees_what_sticks_out(visit: Open) -> None:
    page = visit(viewport={"width": 390, "height": 844}).open("/")
    page.evaluate("""() => {
        const wide = document.createElement('div');
        wide.style.width = '600px';
        wide.append('too wide');
        document.querySelector('[data-testid="stMainBlockContainer"]').append(wide);
    }""")
    assert "too wide" in overhang(page)


def is_painted(page: Page, background: str) -> None:
    """Waits until the background is "dark" or "light", and the text the other."""
    page.wait_for_function(
        """background => {
            const style = getComputedStyle(document.querySelector('[data-testid="stApp"]'));
            const brightness = colour => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, c) => sum + +c, 0) / 3;
            const [dark, light] = background === 'dark' ? ['backgroundColor', 'color'] : ['color', 'backgroundColor'];
            return brightness(style[dark]) < 60 && brightness(style[light]) > 200;
        }""",
        arg=background,
    )


@each_page
def test_a_page_follows_the_browsers_scheme(visit: Open, page_id: str) -> None:
    seen = visit(color_scheme="dark")
    page = seen.open(f"/{PAGES[page_id].url_path}")
    is_painted(page, "dark")
    page.emulate_media(color_scheme="light")
    is_painted(page, "light")
    seen.check()


@pytest.mark.parametrize(("locale", "lang"), [("zh-CN", "zh"), ("en-GB", "en"), ("fr-FR", "en")])
def test_the_browsers_language_is_taken_until_a_link_says_otherwise(visit: Open, locale: str, lang: str) -> None:
    seen = visit(locale=locale)
    is_titled(seen.open("/"), "home", lang)
    for asked in LANGS:
        is_titled(seen.open(f"/?lang={asked}"), "home", asked)
    seen.check()


def test_a_visit_notices_what_a_console_says_and_who_else_is_asked(visit: Open) -> None:
    """Else `check` would find every page well."""
    seen = visit()
    page = seen.open("/")
    seen.check()
    page.evaluate("console.error('broken')")
    page.evaluate("fetch('http://127.0.0.2:9/elsewhere').catch(() => null)")
    said = "\n".join(seen.complaints)
    assert "broken" in said
    assert "asked another host for http://127.0.0.2:9/elsewhere" in said
