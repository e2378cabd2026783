"""The coding room in a browser: code is typed and judged by the real judge, marked where it is wrong, and not lost."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from core.judge.problems import problem
from pages._ui.coding.debugging import draw
from tests.browser.visiting import WORDS, Open, Visit

pytestmark = pytest.mark.browser
PATIENCE = 60_000  # ms; the first verdict waits for the judge's torch
SEED = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.d_h = d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)  # Q, K, V in one projection
        self.wo = nn.Linear(d_model, d_model)       # output projection

    def forward(self, x, mask=None):
        B, L, d = x.shape
        qkv = self.qkv(x)                            # (B, L, 3d)
        q, k, v = qkv.chunk(3, dim=-1)
        def split(t):
            return t.view(B, L, self.h, self.d_h).transpose(1, 2)
        q, k, v = split(q), split(k), split(v)
        scores = q @ k.transpose(-2, -1) / (self.d_h ** 0.5)  # (B,H,L,L)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float('-inf'))
        attn = F.softmax(scores, dim=-1)
        out = attn @ v                               # (B,H,L,d_h)
        out = out.transpose(1, 2).contiguous().view(B, L, d)
        return self.wo(out)

if __name__ == '__main__':
    mha = MultiHeadAttention(d_model=64, n_heads=8)
    x = torch.randn(2, 10, 64)
    print(mha(x).shape)  # torch.Size([2, 10, 64])
"""
SPLIT = "return t.view(B, L, self.h, self.d_h).transpose(1, 2)"


def code(page: Page) -> Locator:
    return page.locator(".cm-content")


def banner(page: Page) -> Locator:
    return page.locator(".hw-banner")


def start(visit: Open, query: str, **options: object) -> tuple[Visit, Page]:
    seen = visit(**options)
    page = seen.open(f"/coding_room?{query}")
    expect(code(page)).to_be_visible()
    return seen, page


def write(page: Page, text: str) -> None:
    """Put `text` in the place of all that is there."""
    code(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def is_judged(page: Page, key: str, lang: str = "en") -> None:
    expect(banner(page)).to_contain_text(WORDS[lang][key], timeout=PATIENCE)


def line_of(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


def test_the_answer_typed_passes_and_without_its_transpose_is_marked_on_that_line(visit: Open) -> None:
    seen, page = start(visit, "lang=en&problem=mha")
    write(page, SEED)
    page.keyboard.press("Control+Enter")
    is_judged(page, "coding.passed")

    line = line_of(SEED, SPLIT)
    page.locator(".cm-line", has_text="return t.view(").click()
    page.keyboard.press("End")  # of what fits into one row, then of the line
    page.keyboard.press("End")
    for _ in ".transpose(1, 2)":
        page.keyboard.press("Backspace")
    page.keyboard.press("Control+Enter")
    is_judged(page, "coding.failed")
    seen.settle()
    button = page.get_by_role("button", name=WORDS["en"]["coding.line"].format(line=line))
    expect(button).to_be_visible()
    expect(page.get_by_text("split-no-transpose").first).to_be_visible()
    expect(page.locator(".cm-line", has=page.locator(".cm-finding"))).to_contain_text("return t.view(")
    page.keyboard.press("Control+Home")
    button.click()
    seen.settle()
    expect(page.locator(".cm-activeLine")).to_contain_text("return t.view(")
    seen.check()


def test_the_button_runs_what_was_typed_just_before(visit: Open) -> None:
    seen, page = start(visit, "lang=en&problem=mha")
    write(page, SEED.replace("/ (self.d_h ** 0.5)", ""))
    page.get_by_role("button", name=WORDS["en"]["coding.run"]).first.click()
    is_judged(page, "coding.failed")
    expect(page.get_by_text("scale-missing").first).to_be_visible()
    seen.check()


def test_a_loop_without_end_ends_with_a_clear_message(visit: Open) -> None:
    seen, page = start(visit, "lang=en&problem=mha")
    write(page, SEED.replace("        B, L, d = x.shape\n", "        while True:\n            pass\n"))
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("stSpinner")).to_contain_text(WORDS["en"]["coding.judging"])
    is_judged(page, "coding.failed")
    expect(page.locator(".hw-said")).to_contain_text(re.compile(r"loop|running", re.IGNORECASE))
    write(page, SEED)
    page.keyboard.press("Control+Enter")
    is_judged(page, "coding.passed")
    seen.check()


def test_a_reload_keeps_each_problems_draft(visit: Open) -> None:
    seen, page = start(visit, "lang=en&problem=gqa")
    write(page, "mine = 'gqa'")
    page.goto(page.url.replace("problem=gqa", "problem=mha"))
    expect(page.locator(".cm-line").first).to_have_text(problem("mha").starter.splitlines()[0])
    write(page, "mine = 'mha'")
    page.reload()
    expect(page.locator(".cm-line")).to_have_text(["mine = 'mha'"])
    page.goto(page.url.replace("problem=mha", "problem=gqa"))
    expect(page.locator(".cm-line")).to_have_text(["mine = 'gqa'"])
    seen.check()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_link_opens_a_task_to_repair_and_its_repair_is_praised(visit: Open, lang: str) -> None:
    seed = next(seed for seed in range(1, 999) if draw("mha", seed, 1).entries[0].id == "scale-missing")
    task = draw("mha", seed, 1)
    seen, page = start(visit, f"lang={lang}&problem=mha&mode=debug&seed={seed}")
    expect(page.locator(".cm-line").first).to_have_text(task.source.splitlines()[0])
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+Enter")  # outside the editor too
    is_judged(page, "coding.failed", lang)
    seen.settle()
    expect(page.get_by_text(task.entries[0].id)).to_have_count(0)
    expect(page.locator(".cm-finding.cm-proved, .cm-finding.cm-likely")).to_have_count(0)
    write(page, task.right)
    page.keyboard.press("Control+Enter")
    is_judged(page, "coding.passed", lang)
    praise = WORDS[lang]["coding.debug.small"].format(lines=task.lines, enough=task.lines)
    expect(page.get_by_test_id("stMarkdown").filter(has_text=praise.replace("**", ""))).to_be_visible()
    seen.check()


def test_by_keyboard_alone(visit: Open) -> None:
    """Escape and Tab lead out of the editor, and Enter presses Run."""
    seen, page = start(visit, "lang=en&problem=mha")
    write(page, SEED)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content:focus")).to_have_count(0)
    page.get_by_role("button", name=WORDS["en"]["coding.run"]).first.focus()
    page.keyboard.press("Enter")
    is_judged(page, "coding.passed")
    seen.check()


def test_a_phone_shows_a_verdict_whole(visit: Open) -> None:
    seen, page = start(
        visit,
        "problem=mha",
        viewport={"width": 390, "height": 844},
        locale="zh-CN",
        color_scheme="dark",
        has_touch=True,
    )
    write(page, SEED.replace(".transpose(1, 2).contiguous()", ".contiguous()"))
    page.get_by_role("button", name=WORDS["zh"]["coding.run"]).first.tap()
    is_judged(page, "coding.failed", "zh")
    seen.settle()
    expect(page.locator(".hw-steps")).to_be_visible()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    seen.check()
