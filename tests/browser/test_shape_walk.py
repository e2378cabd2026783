"""Through the Shape walk with the keyboard, and in another language."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from core.errors import LANGS
from tests.browser.visiting import WORDS, Open, is_titled

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
    assert "default value" not in seen.server.log()  # Streamlit's warning of a widget that is given its value twice


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


@pytest.mark.parametrize("lang", LANGS)
def test_the_controls_take_one_row_on_a_laptop(visit: Open, lang: str) -> None:
    seen = visit(viewport={"width": 1280, "height": 900})
    page = seen.open(f"/shape_walk?lang={lang}&attention=GQA&L=64&d_model=256&H=16&H_kv=16")
    controls = [page.get_by_role("spinbutton").nth(i) for i in range(5)]
    controls += [page.get_by_role("combobox"), page.get_by_role("radio", name="MHA")]
    bottoms = [box["y"] + box["height"] for box in map(box_of, controls)]
    assert max(bottoms) - min(bottoms) < 12
    seen.check()


def box_of(place: Locator) -> FloatRect:
    box = place.bounding_box()
    assert box is not None
    return box


TOUCHING = """() => {
    const foot = document.querySelector(".hw-arrows .hw-jump").getBoundingClientRect().bottom
    return Math.abs(document.querySelectorAll(".hw-row i")[1].getBoundingClientRect().top - foot) < 3
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_an_arrow_points_at_the_neighbour(visit: Open, width: int) -> None:
    page = visit(viewport={"width": width, "height": 844}).open("/shape_walk?lang=en&attention=GQA&step=6")
    cells, arrows = page.locator(".hw-row i"), page.locator(".hw-arrows .hw-jump")
    expect(arrows).to_have_count(3)
    page.wait_for_function(TOUCHING)  # the rows above may still be finding their places
    for i, stride in enumerate((1, 4, 8)):  # d_h, H_kv, L
        arrow, cell = box_of(arrows.nth(i)), box_of(cells.nth(stride))
        assert cell["x"] < arrow["x"] + arrow["width"] - 5 < cell["x"] + cell["width"]  # its head's point
        assert abs(arrow["y"] + arrow["height"] - cell["y"]) < 3
    labels = [box_of(page.locator(".hw-arrows .hw-chip").nth(i)) for i in range(3)]
    assert all(above["y"] + above["height"] <= below["y"] for below, above in pairwise(labels))


def test_a_click_in_the_list_of_both_walks_goes_there(visit: Open) -> None:
    seen = visit()
    page = seen.open("/shape_walk?lang=en&mistake=split-view-direct")
    parting = page.locator("tr[aria-current=step]")
    expect(parting).to_contain_text(WORDS["en"]["walk.mistake.part"])
    page.locator(".hw-map tbody tr").nth(8).click()
    at_step(page, 9)
    expect(parting).not_to_contain_text(WORDS["en"]["walk.mistake.part"])
    seen.check()
