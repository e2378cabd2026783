"""A mistake switched on: the step where it mixes tokens is seen, and so is torch's own error with its repair."""

import re

import pytest
from playwright.sync_api import expect

from core import pitfalls
from tests.browser.visiting import WORDS, Open

pytestmark = pytest.mark.browser


def test_a_merge_without_transpose_shows_the_step_where_token_rows_mix(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en")
    page.get_by_role("combobox", name=WORDS["en"]["walk.mistake"]).click()
    page.keyboard.type("merge-no-transpose")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("mistake=merge-no-transpose"))
    expect(page.get_by_text(WORDS["en"]["walk.mistake.parts_here"])).to_be_visible()
    seen.settle()
    right, wrong = page.locator(".hw-change").first, page.locator(".hw-change").last
    expect(wrong.locator(".hw-mixed").first).to_contain_text("L")
    expect(right.locator(".hw-mixed")).to_have_count(0)
    expect(page.get_by_text(pitfalls.entry("merge-no-transpose").repair["en"].split("`")[0]).first).to_be_visible()
    seen.check()


def test_a_view_without_contiguous_shows_torchs_own_error_and_the_repair(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=zh&mistake=merge-view-noncontiguous")
    expect(page.get_by_text("RuntimeError: view size is not compatible").first).to_be_visible()
    expect(page.get_by_text(WORDS["zh"]["walk.mistake.repair"]).first).to_be_visible()
    expect(page.get_by_text(WORDS["zh"]["frame.action"]).first).to_be_visible()
    expect(page.locator(".hw-tag.hw-error").first).to_have_text(WORDS["zh"]["walk.kind.error"])
    seen.check()


def test_a_click_in_the_list_of_steps_goes_there(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en")
    page.locator(".hw-map tbody tr").nth(6).click()
    expect(page).to_have_url(re.compile(r"step=7\b"))
    expect(page.get_by_role("slider")).to_have_value("7")
    page.locator(".hw-map tbody button").nth(8).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("slider")).to_have_value("9")
    seen.check()
