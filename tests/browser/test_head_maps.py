"""Head maps in a browser: what is typed is drawn, what is pointed at is read, what is clicked opens."""

import re
from functools import cache

import pytest
from playwright.sync_api import Locator, Page, expect

from core import lm
from core.lm.model import Attention
from pages._ui.maps import grid
from pages._ui.maps.labels import shown
from tests.browser.visiting import Open

pytestmark = [pytest.mark.browser, pytest.mark.models]
GQA, MHA = "smollm2-135m", "minilm-l6"
TEXT = "The dog chased the cat, because the cat had eaten."


@cache
def attend(model_id: str, text: str) -> Attention:
    return lm.load(model_id).attend(text)


def small_maps(page: Page) -> Locator:
    return page.get_by_role("figure").nth(0)


def large_map(page: Page) -> Locator:
    return page.get_by_role("figure").nth(1)


def drawn(page: Page, model: str, text: str = TEXT) -> None:
    """The large map has the tokens of `text` on both axes."""
    tokens = [shown(token) for token in attend(model, text).tokens]
    expect(large_map(page).locator(".xtick text")).to_have_text(tokens)
    expect(large_map(page).locator(".ytick text")).to_have_text(tokens[::-1])  # Plotly draws from the bottom


def point_at(page: Page, query: int, key: int, L: int) -> None:
    large_map(page).scroll_into_view_if_needed()
    cells = large_map(page).locator(".heatmaplayer image").bounding_box()
    assert cells
    x, y = ((i + 0.5) / L for i in (key, query))
    page.mouse.move(cells["x"] + x * cells["width"], cells["y"] + y * cells["height"])


def click_head(page: Page, head: int, model: str) -> None:
    """Click the small map of `head` a little off its middle, as a person would."""
    card = lm.MODELS[model]
    where = grid.plan(card.n_heads, card.n_kv_heads)
    box = small_maps(page).bounding_box()
    assert box
    place = where.maps[head]
    small_maps(page).click(
        position={
            "x": (place.x + 0.3) / where.width * box["width"],
            "y": (place.y + 0.6) / where.height * box["height"],
        }
    )


@pytest.mark.parametrize("model", [GQA, MHA])
def test_a_typed_sentence_is_drawn_and_read_by_pointing(visit: Open, model: str) -> None:
    seen = visit()
    page = seen.open(f"/head_maps?lang=en&model={model}&layer=2&head=3")
    box = page.get_by_label("Text", exact=True)
    box.fill(TEXT)
    box.press("Control+Enter")
    drawn(page, model)
    seen.settle()
    weights = attend(model, TEXT).weights[2, 3]
    for query, key in ((len(weights) - 1, 2), (4, 4), (7, 0)):
        point_at(page, query, key, len(weights))
        expect(large_map(page).locator(".hovertext")).to_contain_text(f"{weights[query, key]:.4f}")
    assert "text=The+dog" in page.url
    seen.check()


def test_what_a_causal_model_cannot_see_says_nothing(visit: Open) -> None:
    page = visit().open(f"/head_maps?lang=en&model={GQA}&text={TEXT}")
    drawn(page, GQA)
    L = len(attend(GQA, TEXT).tokens)
    point_at(page, L - 1, 0, L)
    expect(large_map(page).locator(".hovertext")).to_have_count(1)
    point_at(page, 1, L - 2, L)
    expect(large_map(page).locator(".hovertext")).to_have_count(0)


def test_a_click_on_a_small_map_opens_its_head_again_and_again(visit: Open) -> None:
    seen = visit()
    page = seen.open(f"/head_maps?lang=en&model={GQA}&layer=4&head=0&text={TEXT}")
    drawn(page, GQA)
    number = page.get_by_label(re.compile("^Head"))
    for head in (7, 2, 7):
        click_head(page, head, GQA)
        expect(number).to_have_value(str(head))
        expect(page.get_by_text(f"Layer 4 · Q{head}")).to_be_visible()
        expect(page).to_have_url(re.compile(rf"\bhead={head}\b"))
        seen.settle()
    number.press("ArrowUp")  # and the keyboard goes on from there
    expect(page.get_by_text("Layer 4 · Q8")).to_be_visible()
    seen.settle()
    click_head(page, 7, GQA)
    expect(number).to_have_value("7")
    seen.check()


def test_the_table_opens_from_the_keyboard(visit: Open) -> None:
    seen = visit()
    page = seen.open(f"/head_maps?lang=zh&model={MHA}&text={TEXT}")
    drawn(page, MHA)
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    seen.check()


@pytest.mark.parametrize("model", [GQA, MHA])
@pytest.mark.parametrize(("L", "budget"), [(32, 0.3e6), (128, 0.5e6), (512, 2e6)])
def test_the_first_view_keeps_to_its_budget_of_bytes(visit: Open, model: str, L: int, budget: float) -> None:
    seen = visit()
    received: list[int] = []
    seen.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    words = L - 2 if model == MHA else L  # BERT's tokenizer adds two
    page, patient = seen.page, 240_000  # ms: at 512 tokens the model itself takes its time on a busy machine
    page.goto(f"{seen.server.url}/head_maps?lang=en&model={model}&text={'+'.join(['cat'] * words)}")
    expect(page.locator(".hw-L b").first).to_have_text(str(L), timeout=patient)
    expect(large_map(page).locator(".heatmaplayer image")).to_be_visible(timeout=patient)
    assert 10_000 < sum(received) < budget
    seen.check()
