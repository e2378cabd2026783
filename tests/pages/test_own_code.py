"""Own code in the Shape walk and below a verdict: run by the real judge, in its sandbox."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import BadInput, Explained, Lang
from core.judge import Judge
from core.judge.client import failed
from core.judge.problems import problem, problems
from core.pitfalls import reference
from pages._ui import cache
from pages._ui.walk import own, owned
from tests.pages.coding import SEED, html_of, words, written

Open = Callable[..., AppTest]
MERGE = SEED.replace("out.transpose(1, 2).contiguous().view(B, L, d)", "out.reshape(B, L, d)")
RAISES = SEED.replace(".contiguous()", "")
NO_NAME = SEED.replace("F.softmax(", "softmaxed(")
LOOP = SEED.replace("B, L, d = x.shape", "while True: pass")
HOSTILE = SEED.replace("class MultiHeadAttention", "import os\nos._exit(0)\nclass MultiHeadAttention")
MARKUP = SEED.replace("scores = q @", "scores = '<img src=x onerror=alert(1)>' and q @")


@pytest.fixture(scope="module")
def real() -> Iterator[Judge]:
    with Judge() as started:
        yield started


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, real: Judge) -> None:
    monkeypatch.setattr(cache, "judge", lambda: real)


def opened(open_page: Open, source: str, lang: Lang, **query: str) -> AppTest:
    app = open_page("home", lang=lang)
    app.session_state["coding_mha_text"] = source
    app.query_params.update({"source": "own", "problem": "mha", **query})
    app.switch_page("shape_walk.py").run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    shown = (*app.info, *app.warning, *app.error)
    return written(app) + "\n".join(element.value for element in shown)


def line_of(source: str, text: str) -> int:
    return next(i for i, line in enumerate(source.splitlines(), 1) if text in line)


def marked(app: AppTest) -> list[str]:
    """The source that is marked on the page."""
    return [part.split("</mark>")[0] for part in html_of(app).split("<mark>")[1:]]


def test_a_link_holds_the_problem_and_not_the_code(open_page: Open, lang: Lang) -> None:
    app = opened(open_page, SEED, lang)
    assert app.query_params["source"] == "own"
    assert app.query_params["problem"] == "mha"
    assert "nn." not in str(app.query_params)


def test_without_a_draft_the_way_to_the_room_is_shown(open_page: Open, lang: Lang) -> None:
    app = open_page("shape_walk", source="own", problem="gqa", lang=lang)
    assert not app.exception
    assert words("walk.own.nothing", lang) in said(app)
    starter = opened(open_page, problem("mha").starter, lang)
    assert words("walk.own.nothing", lang) in said(starter)


def test_right_code_is_walked_to_its_end(open_page: Open, lang: Lang) -> None:
    app = opened(open_page, SEED, lang)
    assert words("walk.own.alike", lang) in said(app)
    last = int(app.slider(key="step").max)
    assert last == 17
    for number in range(1, last + 1):
        app.slider(key="step").set_value(number).run()
        assert not app.exception
    assert f"<s>{line_of(SEED, 'return self.wo(out)')}</s>" in html_of(app)
    assert "self.wo(out)" in marked(app)
    assert words("walk.mistake.part", lang) not in html_of(app)


def test_wrong_code_opens_where_it_departs_alone_and_beside(open_page: Open, lang: Lang) -> None:
    app = opened(open_page, MERGE, lang)
    assert words("walk.own.departs", lang) in said(app)
    assert marked(app) == ["out.reshape(B, L, d)"]
    app.toggle(key="beside").set_value(True).run()
    assert not app.exception
    assert words("walk.own.reference", lang) in said(app)
    assert marked(app)[-1] == "out.reshape(B, L, d)"
    assert len(marked(app)) == 2
    app.slider(key="step").set_value(1).run()
    assert words("walk.own.same_yet", lang, step=14) in said(app)
    app.slider(key="step").set_value(15).run()
    assert words("walk.own.after", lang, step=14) in said(app)


def test_a_step_that_raises_is_explained(open_page: Open, lang: Lang) -> None:
    app = opened(open_page, RAISES, lang)
    assert marked(app) == ["out.transpose(1, 2).view(B, L, d)"]
    assert "RuntimeError: view size is not compatible" in "\n".join(code.value for code in app.code)
    assert app.warning, "the explanation in three parts"


def test_what_raises_between_steps_is_told(open_page: Open, lang: Lang) -> None:
    app = opened(open_page, NO_NAME, lang)
    assert words("walk.own.raised", lang, line=line_of(NO_NAME, "softmaxed(")) in said(app)
    assert "NameError: name 'softmaxed' is not defined" in "\n".join(code.value for code in app.code)


@pytest.mark.parametrize(("source", "code"), [(LOOP, "judge.sandbox-timeout"), (HOSTILE, "judge.sandbox-exited")])
def test_what_cannot_be_walked_is_told_in_three_parts(open_page: Open, lang: Lang, source: str, code: str) -> None:
    app = opened(open_page, source, lang)
    (error,) = app.error
    action = Explained(code, seconds=5.0, memory=1, reply=1).parts(lang).action
    assert action.split("`")[0][:12] in error.value.replace("\\", "")
    assert words("frame.action", lang) in error.value
    assert not app.slider


def test_what_the_code_says_is_text(open_page: Open) -> None:
    app = opened(open_page, MARKUP, "en", step="10")
    assert "&lt;img" in html_of(app)
    assert "<img src=x" not in html_of(app)


def test_sizes_that_cannot_work_are_refused_before_it_runs(open_page: Open, lang: Lang) -> None:
    app = opened(open_page, SEED, lang, d_model="15")
    assert len(app.error) == 1


def test_sizes_of_the_other_walk_are_made_smaller(open_page: Open) -> None:
    app = open_page("shape_walk", L="64")
    app.session_state["coding_mha_text"], app.session_state["problem"] = SEED, "mha"
    app.session_state["source"] = "own"
    app.run()
    assert not app.exception
    assert not app.error
    assert app.number_input(key="L").value == owned.LIMITS["L"][1]
    assert len(app.slider) == 1


@pytest.mark.parametrize("one", problems(), ids=lambda one: one.id)
def test_every_problem_can_be_walked_at_its_largest(real: Judge, one: Any) -> None:
    largest = tuple((name, owned.LIMITS[name][1]) for name in owned.sizes_of(one.id))
    for sizes in ((), largest):
        walked = owned.walk(real, owned.Setup(one.id, reference(one.id).source, sizes))
        assert walked.at is None
        assert walked.reference is not None
        assert len(walked.own) == len(walked.reference)
        for i, step in enumerate(walked.own):
            beside = own.beside(walked, i)
            assert beside is not None
            assert step.outputs[0].axes == walked.reference[i].outputs[0].axes


def test_what_does_not_come_from_a_judge_is_refused() -> None:
    setup = owned.Setup("mha", SEED)
    for kind in ("timeout", "judge-failed"):
        with pytest.raises(Explained, match="judg"):
            owned.read(setup, failed("mha", kind))
    with pytest.raises(BadInput, match="no readable answer"):
        owned.read(setup, {"own": {}, "reference": None, "pairs": [], "parts_at": None, "error": None})


def test_below_a_verdict_it_stands_beside_the_reference(open_page: Open, lang: Lang) -> None:
    app = open_page("coding_room", problem="mha", lang=lang)
    app.session_state["coding_mha_text"] = MERGE
    app.button(key="coding_run").click().run()
    assert not app.exception
    assert words("walk.own.reference", lang) not in said(app)
    app.toggle(key="coding_walk").set_value(True).run()
    assert not app.exception
    assert words("walk.own.departs", lang) in said(app)
    assert "out.reshape(B, L, d)" in marked(app)
    app.session_state["coding_mha_text"] = SEED
    app.button(key="coding_run").click().run()
    assert words("walk.own.alike", lang) in said(app)
    assert app.slider(key="step").value == 1


def test_a_task_to_repair_does_not_show_where_it_departs(open_page: Open) -> None:
    app = open_page("coding_room", problem="mha", mode="debug", seed="7")
    app.button(key="coding_run").click().run()
    assert not app.exception
    assert "coding_walk" not in [toggle.key for toggle in app.toggle]
    app.button(key="coding_tell").click().run()
    assert "coding_walk" in [toggle.key for toggle in app.toggle]


def test_a_walk_goes_to_the_page_in_few_bytes(real: Judge) -> None:
    sizes = {"B": 1, "L": 5, "Lk": 5, "H": 4, "H_kv": 4, "d_h": 4}
    told = real.judge("mha", SEED, walk=sizes)
    assert len(json.dumps(told)) < 200_000
    assert not [key for key in json.dumps(told).split('"') if key in ("value", "values")]
