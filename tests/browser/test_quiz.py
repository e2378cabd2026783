"""The quiz in a browser: answered from the keyboard, on a phone, and in another language."""

import re

import pytest
from playwright.sync_api import Page, expect

from core.errors import Lang
from core.quiz import load_bank, run_proof
from core.quiz.kinds import KINDS
from tests.browser.visiting import WORDS, Open, Visit, is_titled

pytestmark = pytest.mark.browser
ONE, SEVERAL, SHAPE = "split-scores-without-transpose", "split-tests-that-catch", "split-right-shape"


def asks(seen: Visit, question_id: str, lang: Lang = "en") -> None:
    """The page puts this question: its words are there, its id is in the address, and the keys are listened to."""
    question = load_bank().question(question_id)
    assert question
    words = max(re.split(r"`[^`]*`|\[\[[^\]]*\]\]", question.prompt[lang]), key=len).strip()
    expect(seen.page.get_by_role("heading", level=2)).to_contain_text(words)
    expect(seen.page).to_have_url(re.compile(rf"[?&]question={question_id}\b"))
    options = len(getattr(question, "options", ()))
    expect(seen.page.locator(".st-key-quiz_options button")).to_have_count(options)
    listens(seen)


def listens(seen: Visit) -> None:
    """The page is drawn and hears keys: a shortcut is bound when its button has been painted."""
    seen.settle()
    seen.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def is_right(page: Page, right: bool = True, lang: str = "en") -> None:
    expect(
        page.get_by_role("status").filter(has_text=WORDS[lang]["quiz.right" if right else "quiz.wrong"])
    ).to_be_visible()


def is_proved(page: Page, question_id: str) -> None:
    question = load_bank().question(question_id)
    assert question
    last = run_proof(question).output.splitlines()[-1]
    expect(page.get_by_test_id("stCode").filter(has_text=">>>")).to_contain_text(last)


def score(page: Page, right: int, answered: int, lang: str = "en") -> None:
    expect(page.get_by_text(WORDS[lang]["quiz.score"].format(right=right, answered=answered))).to_be_visible()


def test_answered_from_the_keyboard(visit: Open) -> None:
    """A choice, a typed shape, several choices, and on with Enter each time."""
    seen = visit()
    page = seen.open(f"/quiz?lang=en&question={ONE}")
    asks(seen, ONE)
    page.keyboard.press("2")
    is_right(page)
    is_proved(page, ONE)
    score(page, 1, 1)
    listens(seen)
    page.keyboard.press("Enter")
    asks(seen, SHAPE)
    field = page.get_by_label(WORDS["en"]["quiz.type_shape"])
    field.focus()
    page.keyboard.type("12, 4, 128, 64")
    page.keyboard.press("Enter")
    is_right(page, False)
    is_proved(page, SHAPE)
    score(page, 1, 2)
    seen.check()

    page = seen.open(f"/quiz?lang=en&question={SEVERAL}")
    asks(seen, SEVERAL)
    for key in ("2", "3", "3", "5"):  # the third is chosen and taken back
        before = page.get_by_text("check_box", exact=True).count()
        page.keyboard.press(key)
        expect(page.get_by_text("check_box", exact=True)).not_to_have_count(before)
        listens(seen)
    page.keyboard.press("Enter")
    is_right(page)
    is_proved(page, SEVERAL)
    seen.check()


def test_enter_still_follows_a_link_that_has_the_focus(visit: Open) -> None:
    """Enter goes on to the next question, but not from a link or from what unfolds."""
    seen = visit()
    page = seen.open(f"/quiz?lang=en&question={ONE}")
    asks(seen, ONE)
    page.keyboard.press("1")
    is_proved(page, ONE)
    listens(seen)
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("details[open]")).to_have_count(1)
    is_right(page, False)
    page.get_by_role("link", name=WORDS["en"]["quiz.walk"]).focus()
    page.keyboard.press("Enter")
    is_titled(page, "shape_walk", "en")
    expect(page.get_by_role("slider")).to_have_value("12")
    page.get_by_role("link", name=WORDS["en"]["nav.quiz"]).first.click()
    is_right(page, False)
    score(page, 0, 1)
    seen.check()


def test_another_language_keeps_what_is_half_typed(visit: Open) -> None:
    seen = visit()
    page = seen.open(f"/quiz?lang=en&question={SHAPE}")
    page.get_by_label(WORDS["en"]["quiz.type_shape"]).fill("(4, 12")
    page.get_by_role("radio", name="中文").or_(page.get_by_role("button", name="中文")).click()
    is_titled(page, "quiz", "zh")
    asks(seen, SHAPE, "zh")
    expect(page.get_by_label(WORDS["zh"]["quiz.type_shape"])).to_have_value("(4, 12")
    seen.check()


@pytest.mark.parametrize("question_id", [ONE, SEVERAL, "gqa-expand-lines", "kv-llama-2-7b-at-4096"])
def test_a_phone_shows_it_whole(visit: Open, question_id: str) -> None:
    seen = visit(viewport={"width": 390, "height": 844}, locale="zh-CN", color_scheme="dark", has_touch=True)
    page = seen.open(f"/quiz?question={question_id}")
    asks(seen, question_id, "zh")
    question = load_bank().question(question_id)
    assert question
    for state in ("asked", "answered"):
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= 390, state
        if state == "answered":
            break
        if question.kind == "number":
            page.get_by_role("textbox").fill("1")
        else:
            page.locator(".st-key-quiz_options button").first.tap()
        if question.kind != "one-choice":
            page.get_by_role("button", name=WORDS["zh"]["quiz.submit"]).tap()
        is_proved(page, question_id)
    seen.check()


def test_a_phone_shows_every_kind_whole(visit: Open) -> None:
    """Of each kind the question with the longest line: nothing makes the page wider than the phone."""
    seen = visit(viewport={"width": 390, "height": 844}, locale="zh-CN", has_touch=True)
    longest: dict[str, tuple[int, str]] = {}
    for question in load_bank().questions:
        line = max(len(line) for code in ["", *question.codes()] for line in code.split("\n"))
        longest[question.kind] = max(longest.get(question.kind, (0, "")), (line, question.id))
    assert longest.keys() == set(KINDS)
    for _, id_ in longest.values():
        page = seen.open(f"/quiz?question={id_}")
        expect(page.get_by_role("heading", level=2)).to_be_visible()
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390, id_
    seen.check()
