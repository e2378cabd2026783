"""A judge that says what it is told, and what one does in the coding room: type, press, look."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from core import pitfalls
from core.errors import Lang
from pages._ui import i18n

ENTRY = pitfalls.entry("merge-no-transpose")
CODE = "class MultiHeadAttention:\n    pass\n"
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
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.wo = nn.Linear(d_model, d_model)

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
"""


def text(words: str) -> dict[str, str]:
    return {"en": words, "zh": f"{words}（中）"}


def step(number: int = 1, **other: object) -> dict[str, Any]:
    return {
        **{"op": "view", "kind": "view", "args": "2, 3", "line": number, "end_line": number, "col": 0, "end_col": 4},
        **{"text": "x.view(2, 3)", "error": None, "shape": [2, 3], "stride": [3, 1], **other},
    }


def verdict(**other: object) -> dict[str, Any]:
    """One that holds; `other` replaces parts of it."""
    checks = [{"id": "runs", "passed": not other, "title": text("it runs"), "detail": None}]
    return {
        **{"problem": "mha", "passed": True, "checks": checks, "findings": [], "error": None, "divergence": None},
        **{"trace": [step()], "seconds": 0.31, "printed": "", **other},
    }


FINDING = {
    **{"pitfall": ENTRY.id, "line": 2, "end_line": 2, "col": 4, "end_col": 8, "confidence": "proved"},
    "message": text(f"{ENTRY.title.en}. {ENTRY.repair.en} Proved: it is so."),
}
WRONG = verdict(passed=False, findings=[FINDING])


class FakeJudge:
    """Gives `verdict`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.verdict = verdict()
        self.asked: list[tuple[str, str]] = []

    def judge(self, problem_id: str, source: str) -> dict[str, Any]:
        self.asked.append((problem_id, source))
        return self.verdict


def words(key: str, lang: Lang = "en", **params: object) -> str:
    return i18n.catalogue(lang)[key].format(**params)


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def written(app: AppTest) -> str:
    return "\n".join(element.value for element in (*app.markdown, *app.caption))


def editor_of(app: AppTest) -> dict[str, Any]:
    """What the browser is told of the editor."""
    protos = [element.proto for element in app.get("bidi_component")]
    (drawn,) = (proto for proto in protos if proto.component_name == "headwise_editor")
    return json.loads(drawn.json or drawn.mixed.json)


def is_judged(app: AppTest) -> bool:
    return 'class="hw-banner' in html_of(app)


def press(app: AppTest, name: str) -> AppTest:
    app.button(key=f"coding_{name}").click().run()
    assert not app.exception
    return app


def has(app: AppTest, name: str) -> bool:
    return any(button.key == f"coding_{name}" for button in app.button)


def type_in(app: AppTest, source: str, room: str = "mha") -> AppTest:
    app.session_state[f"coding_{room}_text"] = source
    return app


def run(app: AppTest, source: str, room: str = "mha") -> AppTest:
    return press(type_in(app, source, room), "run")
