"""Through the Shape walk with the keyboard, and in another language."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import Open, is_titled

pytestmark = pytest.mark.browser


def at_step(page: Page, step: int) -> None:
    """The slider, the address and the lit row of the map all say this step."""
    expect(page.get_by_role("slider")).to_have_value(str(step))
    expect(page.locator("tr[aria-current=step]").get_by_role("button")).to_have_text(str(step))
    if step > 1:  # a default does not stand in the address
        expect(page).to_have_url(re.compile(rf"[?&]step={step}\b"))


def test_the_arrow_keys_move_the_step(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en")
    at_step(page, 1)
    page.keyboard.press("ArrowLeft")  # there is nothing before the first
    seen.settle()
    at_step(page, 1)
    for step in (2, 3, 4):
        page.keyboard.press("ArrowRight")
        at_step(page, step)
        seen.settle()
    page.keyboard.press("ArrowLeft")
    at_step(page, 3)
    seen.check()


def test_a_link_opens_at_its_step_and_its_sizes(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en&step=5&attention=GQA&H=8&H_kv=2")
    at_step(page, 5)
    expect(page.get_by_role("spinbutton", name="H_kv")).to_have_value("2")
    expect(page.get_by_role("spinbutton", name="H", exact=True)).to_have_value("8")
    seen.check()


def test_another_language_keeps_the_step(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en&step=4")
    at_step(page, 4)
    page.get_by_role("radio", name="中文").or_(page.get_by_role("button", name="中文")).click()
    is_titled(page, "shape_walk", "zh")
    at_step(page, 4)
    expect(page).to_have_url(re.compile("lang=zh"))
    seen.check()


def test_sizes_that_cannot_work_say_why(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en&d_model=10&H=4")
    expect(page.get_by_role("alert")).to_contain_text("d_model = 10")
    expect(page.get_by_role("slider")).to_have_count(0)
    seen.check()
