"""The editor in a browser: what is typed stays, whatever happens around it, and findings stand where they belong."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from pages._ui.editor import LIMIT
from tests.browser.visiting import WORDS, Open, Visit
from tools.server import Server, serve

pytestmark = pytest.mark.browser
APP = Path(__file__).parent / "apps" / "editor_app.py"
STARTER = "def attend(q, k, v):\n    pass\n"


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with serve(APP) as server:
        yield server
        assert "Traceback" not in server.log(), server.log()


def code(page: Page) -> Locator:
    return page.locator(".cm-content")


def status(page: Page) -> Locator:
    return page.locator(".cm-status [role=status]")


def holds(page: Page, text: str) -> None:
    """The editor holds this text, each line as it stands."""
    expect(page.locator(".cm-line")).to_have_text(text.split("\n"))


def knows(page: Page, text: str) -> None:
    """The server has this text as the editor's; a button's run shows it."""
    page.get_by_role("button", name="Key").click()
    expect(page.get_by_test_id("stCode").first).to_have_text(repr(text))


def ran(page: Page, text: str, times: int = 1) -> None:
    expect(page.get_by_test_id("stCode").last).to_have_text(repr(text))
    expect(page.get_by_test_id("stText")).to_contain_text(f"runs: {times},")


def start(visit: Open, **options: object) -> tuple[Visit, Page]:
    seen = visit(**options)
    page = seen.open("/")
    expect(code(page)).to_be_visible()
    return seen, page


def write(page: Page, text: str) -> None:
    """Put `text` in the place of all that is there."""
    code(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_python_is_typed_with_its_indents(visit: Open) -> None:
    seen, page = start(visit)
    holds(page, STARTER)
    write(page, "")
    page.keyboard.type("def f(x):\nif x:\nreturn [x")
    holds(page, "def f(x):\n    if x:\n        return [x")
    expect(page.locator(".cm-line span", has_text="return")).to_have_count(1)  # highlighted, so apart
    page.keyboard.press("Shift+Tab")
    holds(page, "def f(x):\n    if x:\n    return [x")
    for key in ("Home", "Tab", "End", "Tab", "]"):
        page.keyboard.press(key)
    holds(page, "def f(x):\n    if x:\n        return [x   ]")  # up to the next multiple of four
    expect(page.locator(".cm-matchingBracket")).to_have_text(["[", "]"])
    knows(page, "def f(x):\n    if x:\n        return [x   ]")
    seen.check()


def test_run_takes_the_newest_text_and_what_is_typed_meanwhile_is_kept(visit: Open) -> None:
    seen, page = start(visit)
    write(page, "")
    page.keyboard.type("a = 1")
    page.keyboard.press("Control+Enter")
    page.keyboard.type("23", delay=150)  # the echo of a = 1 comes between
    ran(page, "a = 1")
    holds(page, "a = 123")
    page.keyboard.type("4")
    knows(page, "a = 1234")
    ran(page, "a = 1")
    page.get_by_role("button", name="Run").click()
    ran(page, "a = 1234", times=2)
    seen.check()


def test_keys_of_the_page_are_letters_in_the_editor(visit: Open) -> None:
    seen, page = start(visit)
    write(page, "")
    page.keyboard.type("xrc")  # a button's key, and Streamlit's own: rerun, clear the cache
    page.keyboard.press("Control+Enter")
    ran(page, "xrc")
    expect(page.get_by_test_id("stText")).to_contain_text("presses: 0, keys: 0")
    page.get_by_role("heading", name="Room").click()
    seen.settle()
    page.keyboard.press("x")
    expect(page.get_by_test_id("stText")).to_contain_text("keys: 1")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("stText")).to_contain_text("presses: 1")
    holds(page, "xrc")
    seen.check()


def test_a_draft_outlives_reload_and_page_and_reset_ends_it(visit: Open) -> None:
    seen, page = start(visit)
    write(page, "mine = 1")
    page.reload()
    holds(page, "mine = 1")
    knows(page, "mine = 1")
    code(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("0")
    page.get_by_role("link", name="other").click()
    expect(page.get_by_role("heading", name="Other")).to_be_visible()
    page.get_by_role("link", name="room").click()
    holds(page, "mine = 10")
    knows(page, "mine = 10")
    page.get_by_role("button", name="Reset").click()
    holds(page, STARTER)
    code(page).click()
    page.keyboard.press("Control+z")
    holds(page, "mine = 10")  # a reset by mistake costs nothing
    page.keyboard.press("Control+y")
    holds(page, STARTER)
    knows(page, STARTER)
    page.reload()
    holds(page, STARTER)
    seen.check()


def test_an_untouched_window_leaves_the_draft_of_another_alone(visit: Open) -> None:
    seen, page = start(visit)
    other = page.context.new_page()
    other.goto(page.url)
    holds(other, STARTER)
    write(page, "mine = 1")
    knows(page, "mine = 1")
    other.reload()  # which it keeps its own text before
    holds(other, "mine = 1")
    seen.check()


def test_a_storage_that_fails_is_no_reason_to_stop(visit: Open) -> None:
    seen = visit()
    for name in ("getItem", "setItem", "removeItem"):
        seen.page.add_init_script(f"""{{
          const old = Storage.prototype.{name};
          Storage.prototype.{name} = function (key, ...rest) {{
            if (key.startsWith("headwise:")) throw new DOMException("full", "QuotaExceededError");
            return old.call(this, key, ...rest);
          }};
        }}""")
    page = seen.open("/")
    write(page, "mine = 1")
    page.keyboard.press("Control+Enter")
    ran(page, "mine = 1")
    page.reload()
    holds(page, STARTER)
    seen.check()


def test_a_foreign_draft_is_not_taken(visit: Open) -> None:
    seen = visit()
    seen.page.add_init_script("localStorage.setItem('headwise:draft:test', JSON.stringify({text: 5, at: 9e12}))")
    holds(seen.open("/"), STARTER)
    seen.check()


def test_more_than_the_limit_is_refused_with_words(visit: Open) -> None:
    seen, page = start(visit)
    write(page, "x" * (LIMIT - 1))
    page.keyboard.type("yz")
    expect(status(page)).to_have_text(WORDS["en"]["editor.too_long"].format(limit=LIMIT))
    page.keyboard.press("Control+Enter")
    ran(page, "x" * (LIMIT - 1) + "y")
    seen.check()


def test_findings_stand_on_their_expressions(visit: Open) -> None:
    seen, page = start(visit)
    text = 's = "𝄞注"; wrong(1)\n\nz = wrong + wrong.T'
    write(page, text)
    page.keyboard.press("Control+Enter")
    marks = page.locator(".cm-finding")
    expect(marks).to_have_text(["wrong"] * 3)
    for mark, severity in zip(marks.all(), ("proved", "likely", "error"), strict=True):
        expect(mark).to_have_class(re.compile(rf"cm-{severity}"))
    expect(page.locator(".cm-sign:visible")).to_have_text(["!", "×"])  # the worst of each line
    said = WORDS["en"]["editor.likely"].format(line=3, message="<b>likely</b> at 4")
    marks.nth(1).hover()
    expect(page.locator(".cm-tooltip p")).to_have_text([said])  # as text: no <b> of it is made bold
    expect(marks.nth(1)).to_have_attribute("aria-description", said)
    expect(page.locator(".cm-sign:visible").nth(1)).to_have_attribute("title", re.compile(re.escape(said)))
    marks.nth(1).click()
    expect(status(page)).to_have_text(said)
    page.keyboard.press("Control+Home")
    page.keyboard.type("a = 1\n")
    expect(marks).to_have_text(["wrong"] * 3)  # they go along
    page.get_by_role("link", name="other").click()
    expect(page.get_by_role("heading", name="Other")).to_be_visible()
    page.get_by_role("link", name="room").click()
    holds(page, f"a = 1\n{text}")
    expect(marks).to_have_text(["wrong"] * 3)  # found in the text that was run, drawn in the one that is there
    marks.first.dblclick()
    page.keyboard.type("right")
    expect(marks).to_have_text(["wrong"] * 2)
    seen.check()


def test_a_line_of_the_list_is_gone_to_each_time(visit: Open) -> None:
    seen, page = start(visit)
    write(page, "\n".join(f"    x{i} = {i}" for i in range(1, 90)))
    for _ in range(2):
        page.get_by_role("button", name="Line 3").click()
        expect(page.locator(".cm-activeLine")).to_have_text("    x3 = 3")
        expect(page.locator(".cm-activeLine")).to_be_in_viewport()
        expect(code(page)).to_be_focused()
        page.keyboard.press("Control+End")
        expect(page.locator(".cm-activeLine")).to_have_text("    x89 = 89")
    seen.check()


def test_the_keyboard_is_not_trapped(visit: Open) -> None:
    seen, page = start(visit)
    hint = page.locator(f"#{code(page).get_attribute('aria-describedby')}")
    expect(hint).to_have_text(WORDS["en"]["editor.hint"])
    code(page).click()
    page.keyboard.press("Tab")
    expect(code(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(status(page)).to_have_text(WORDS["en"]["editor.leave"])
    page.wait_for_timeout(2500)  # however long it takes a person to find the next key
    page.keyboard.press("Tab")
    expect(code(page)).not_to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(code(page)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(code(page)).to_be_focused()  # it is an editor again
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    expect(code(page)).not_to_be_focused()
    seen.check()


def test_an_input_method_is_not_disturbed(visit: Open) -> None:
    seen, page = start(visit, locale="zh-CN")
    write(page, "wrong = '")
    knows(page, "wrong = '")
    code(page).click()
    page.keyboard.press("Control+End")
    method = page.context.new_cdp_session(page)
    for typed in ("z", "zh", "zhu"):
        method.send(
            "Input.imeSetComposition", {"text": typed, "selectionStart": len(typed), "selectionEnd": len(typed)}
        )
    page.get_by_role("button", name="Run").evaluate("button => button.click()")  # a run, the focus where it is
    expect(page.get_by_test_id("stText")).to_contain_text("runs: 1,")
    holds(page, "wrong = 'zhu")
    expect(page.locator(".cm-finding")).to_have_count(0)
    method.send("Input.insertText", {"text": "注意"})
    holds(page, "wrong = '注意")
    expect(page.locator(".cm-finding")).to_have_text("wrong")
    page.keyboard.type("'")
    knows(page, "wrong = '注意'")
    seen.check()


def test_its_words_are_chinese_for_a_chinese_reader(visit: Open) -> None:
    seen, page = start(visit, locale="zh-CN")
    expect(code(page)).to_have_attribute("aria-label", WORDS["zh"]["editor.label"])
    code(page).click()
    page.keyboard.press("Control+f")
    expect(page.get_by_placeholder(WORDS["zh"]["editor.phrase.find"])).to_be_focused()
    expect(page.get_by_role("button", name=WORDS["zh"]["editor.phrase.replace_all"])).to_be_visible()
    assert not re.findall(r"[A-Za-z]+", page.locator(".cm-search").inner_text())
    page.keyboard.press("Escape")
    expect(page.locator(".cm-search")).to_have_count(0)
    seen.check()


@pytest.mark.parametrize(("scheme", "background"), [("light", "rgb(244, 245, 248)"), ("dark", "rgb(29, 33, 43)")])
def test_it_takes_the_colours_of_the_theme(visit: Open, scheme: str, background: str) -> None:
    seen, page = start(visit, color_scheme=scheme)
    expect(page.locator(".cm-editor")).to_have_css("background-color", background)
    words = page.locator(".cm-line span", has_text=re.compile(r"^(def|pass)$"))
    plain = page.locator(".cm-content").evaluate("element => getComputedStyle(element).color")
    expect(words).to_have_count(2)
    assert {word.evaluate("element => getComputedStyle(element).color") for word in words.all()}.isdisjoint({plain})
    seen.check()


def test_it_fits_a_phone(visit: Open) -> None:
    seen, page = start(visit, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    write(page, "def f(x):\n    return wrong(x, " + ", ".join(f"name_{i}" for i in range(20)) + ")")
    page.keyboard.press("Control+Enter")
    for box in (page.locator("html"), page.locator(".cm-scroller")):
        assert box.evaluate("element => element.scrollWidth - element.clientWidth") == 0
    page.locator(".cm-finding").tap()
    expect(status(page)).to_contain_text("<b>proved</b> at 11")
    expect(status(page)).to_be_in_viewport()
    seen.check()


def test_the_library_is_sent_once(visit: Open) -> None:
    seen = visit()
    received: list[int] = []
    seen.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    page = seen.open("/")
    write(page, "wrong")
    assert sum(received) > 300_000
    received.clear()
    for times in (1, 2):
        page.keyboard.press("Control+Enter")
        ran(page, "wrong", times)
    page.get_by_role("button", name="Line 3").click()
    seen.settle()
    assert 0 < sum(received) < 100_000
    seen.check()
