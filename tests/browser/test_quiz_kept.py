"""An answer of each kind from the keyboard, in Chinese; the server is killed; all of them are there afterwards."""

from datetime import UTC, datetime
from pathlib import Path

import fsrs
import pytest
from playwright.sync_api import Browser, Page, TimeoutError, expect

from core.progress import open_store
from core.quiz import Question, kinds, load_bank
from tests.browser.visiting import WORDS, Visit
from tools.server import Server, serve

pytestmark = pytest.mark.browser
ASKED = (
    "split-scores-without-transpose",
    "split-tests-that-catch",
    "split-right-shape",
    "split-fewer-scores",
    "split-called-like-a-function",
    "split-bmm-faulty-line",
    "split-order-of-the-lines",
    "split-fill-the-transpose",
    "split-what-meets-what",
    "strides-of-the-turned-keys",
)


def keys(question: Question) -> list[str] | str:
    """The digits that choose the right answer, or the text to type."""
    if question.kind == "order":
        return [str(question.shuffled().index(place) + 1) for place in range(len(question.lines))]  # ty: ignore[unresolved-attribute]
    key = question.answer  # ty: ignore[unresolved-attribute]
    if question.kind == "pairs":
        right = [item.id for item in question.right]  # ty: ignore[unresolved-attribute]
        return [str(right.index(key[item.id]) + 1) for item in question.left]  # ty: ignore[unresolved-attribute]
    if question.kind == "faulty-line":
        return [str(question.lines().index(key) + 1)]  # ty: ignore[call-non-callable]
    if question.kind in ("one-choice", "several-choices", "raises"):
        ids = list(question.claims())
        return [str(ids.index(id_) + 1) for id_ in ([key] if isinstance(key, str) else key)]
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def answer(seen: Visit, question: Question) -> None:
    page = seen.open(f"/quiz?lang=zh&question={question.id}")
    expect(page.get_by_role("heading", level=2)).to_be_visible()
    expect(page.locator("[data-testid='stMain'] kbd, [data-testid='stMain'] input[type=text]").first).to_be_visible()
    seen.settle()
    pressed = keys(question)
    if isinstance(pressed, str):
        for _ in range(60):
            if page.evaluate("!!document.activeElement?.closest('[data-testid=stTextInput]')"):
                break
            page.keyboard.press("Tab")
        page.keyboard.type(pressed)
    else:
        for key in pressed:
            press(seen, key)
    if question.kind not in ("one-choice", "raises", "faulty-line"):
        press(seen, "Enter")
    is_right(page)
    seen.settle()


def press(seen: Visit, key: str) -> None:
    """A key, pressed until the page hears it: its shortcut is bound a moment after its button is painted."""
    page = seen.page
    before = page.get_by_test_id("stMain").inner_text()
    for _ in range(5):
        page.keyboard.press(key)
        try:
            page.wait_for_function(
                "before => document.querySelector('[data-testid=stMain]').innerText !== before",
                arg=before,
                timeout=6000,
            )
            break
        except TimeoutError:
            continue
    seen.settle()


def is_right(page: Page) -> None:
    expect(page.get_by_role("status").filter(has_text=WORDS["zh"]["quiz.right"])).to_be_visible()


def new_visit(browser: Browser, server: Server) -> Visit:
    return Visit(server, browser.new_context(locale="zh-CN").new_page())


def test_answers_outlive_the_server_and_come_back_when_fsrs_says(browser: Browser, tmp_path: Path) -> None:
    questions = [load_bank().question(id_) for id_ in ASKED]
    assert {question.kind for question in questions if question} == set(kinds.KINDS)
    url = f"sqlite:///{tmp_path / 'kept.db'}"
    with serve(store=url) as server:
        seen = new_visit(browser, server)
        for question in questions:
            assert question
            answer(seen, question)
        seen.check()
        server.kill()

    store = open_store(url)
    kept = {answer.question: answer for answer in store.answers()}
    assert kept.keys() == set(ASKED)
    assert all(answer.right for answer in kept.values())
    for id_, review in store.reviews().items():
        card, _ = fsrs.Scheduler(enable_fuzzing=False).review_card(fsrs.Card(), kept[id_].rating, kept[id_].at)
        assert review.due == card.due, id_
    store.close()

    with serve(store=url) as server:
        seen = new_visit(browser, server)
        for id_ in (ASKED[0], ASKED[8]):
            is_right(seen.open(f"/quiz?lang=zh&question={id_}"))
        page = seen.open("/quiz?lang=zh&practice=review")
        due = [review.due for review in store.reviews().values()]
        if min(due) > datetime.now(UTC):
            expect(page.get_by_text(WORDS["zh"]["quiz.review.next"].partition("{")[0])).to_be_visible()
        else:  # answered slowly, which counts as barely known: due again within minutes
            expect(page.get_by_role("heading", level=2)).to_be_visible()
        seen.check()
