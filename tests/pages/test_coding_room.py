"""The coding room in process: what is asked of the judge, shown of its verdict, kept, and hidden."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import pitfalls
from core.errors import Lang
from core.judge import Judge
from core.judge.problems import problem, problems
from core.quiz import load_bank
from pages._ui import cache
from pages._ui.coding import steps
from pages._ui.text import rich
from tests.pages.coding import (
    CODE,
    ENTRY,
    FINDING,
    SEED,
    WRONG,
    FakeJudge,
    editor_of,
    has,
    html_of,
    is_judged,
    press,
    run,
    step,
    text,
    type_in,
    verdict,
    words,
    written,
)

Open = Callable[..., AppTest]
SERVERS_JUDGE = cache.judge


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch) -> FakeJudge:
    fake = FakeJudge()
    monkeypatch.setattr(cache, "judge", lambda: fake)
    return fake


# To write ------------------------------------------------------------------------------------------------------------


def test_a_room_without_a_link_is_the_first_problem_to_write(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    app = open_page("coding_room", lang=lang)
    first = problems()[0]
    assert not app.exception
    assert app.selectbox(key="problem").value == first.id
    assert editor_of(app)["text"] == first.starter
    assert rich(first.statement[0][lang]) in written(app)
    assert rich(first.rules[0][lang]) in written(app)
    assert first.example.rstrip() in [code.value for code in app.code]
    assert not is_judged(app)
    assert judge.asked == []
    assert not {"problem", "mode", "mistakes", "seed"} & set(app.query_params)


@pytest.mark.parametrize("one", problems(), ids=lambda one: one.id)
def test_every_problem_can_be_linked_to(open_page: Open, one: Any, lang: Lang) -> None:
    app = open_page("coding_room", problem=one.id, lang=lang)
    assert not app.exception
    assert not app.error
    assert editor_of(app)["text"] == one.starter
    assert app.selectbox(key="problem").options == [
        words("coding.problem.title", lang, title=each.title[lang], level=each.level) for each in problems()
    ]
    labels = [expander.label for expander in app.expander]
    assert len(labels) == 2 + len(one.follow_ups)


def test_run_asks_the_judge_for_what_was_typed_and_says_passed(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
    assert judge.asked == [("mha", CODE)]
    shown = html_of(app)
    assert words("coding.passed", lang) in shown
    assert words("coding.failed", lang) not in shown
    assert words("coding.checks.count", lang, right=1, last=1) in shown
    assert words("coding.seconds", lang, seconds="0.31") in shown
    assert text("it runs")[lang] in shown
    assert editor_of(app)["marks"] == []


def test_a_finding_says_what_where_how_sure_why_and_what_to_do(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    judge.verdict = WRONG
    app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
    shown, told = html_of(app), written(app)
    assert words("coding.failed", lang) in shown
    assert ENTRY.id in shown
    assert words("coding.confidence.proved", lang) in shown
    for part in (ENTRY.why, ENTRY.repair):
        assert rich(part[lang]) in told
    (mark,) = editor_of(app)["marks"]
    assert (mark["line"], mark["col"], mark["end_col"], mark["severity"]) == (2, 4, 8, "proved")
    assert mark["message"] == FINDING["message"][lang]
    links = [(element.proto.page, element.proto.query_string) for element in app.get("page_link")]
    assert f"mistake={ENTRY.id}" in [query for _, query in links]
    asked = [query.removeprefix("question=") for _, query in links if query.startswith("question=")]
    assert [ENTRY.id in load_bank().question(id_).pitfalls for id_ in asked] == [True]


def test_the_proof_is_told_apart_from_the_repair(open_page: Open, judge: FakeJudge) -> None:
    judge.verdict = WRONG
    app = run(open_page("coding_room", problem="mha"), CODE)
    assert "Proved: it is so." in [caption.value for caption in app.caption]


def test_the_line_of_a_finding_moves_the_cursor_there(open_page: Open, judge: FakeJudge) -> None:
    judge.verdict = WRONG
    app = run(open_page("coding_room", problem="mha"), CODE)
    before = editor_of(app)["focus"]
    assert app.button(key="coding_line_0").label == words("coding.line", line=2)
    after = editor_of(press(app, "line_0"))["focus"]
    assert after[0] == 2
    assert after != before
    assert len(judge.asked) == 1


def test_a_finding_without_a_line_has_no_place_to_jump_to(open_page: Open, judge: FakeJudge) -> None:
    judge.verdict = verdict(passed=False, findings=[FINDING | {"line": 0, "end_line": 0}])
    app = run(open_page("coding_room", problem="mha"), CODE)
    assert ENTRY.id in html_of(app)
    assert not has(app, "line_0")
    assert editor_of(app)["marks"] == []


def test_every_mistake_of_the_catalogue_can_be_shown(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    for i in range(0, len(pitfalls.IDS), 12):
        few = pitfalls.IDS[i : i + 12]
        judge.verdict = verdict(passed=False, findings=[FINDING | {"pitfall": id_} for id_ in few])
        app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
        assert all(f">{id_}<" in html_of(app) for id_ in few)


def test_an_error_is_told_with_its_line(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    error = {"kind": "raises", "line": 2, "message": text("`NameError`: name 'q' is not defined")}
    judge.verdict = verdict(passed=False, checks=[], error=error, trace=[])
    app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
    assert "<code>NameError</code>" in html_of(app)
    assert has(app, "line_error")
    (mark,) = editor_of(app)["marks"]
    assert (mark["line"], mark["severity"]) == (2, "error")
    assert words("coding.steps", lang) not in html_of(app)


def test_where_nothing_fits_it_says_from_where_on(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    judge.verdict = verdict(passed=False, divergence=text("up to line 3 (`a @ b`)"))
    app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
    assert "up to line 3 (<code>a @ b</code>)" in html_of(app)


def test_a_judge_that_failed_says_so_and_is_asked_again(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    judge.verdict = verdict(passed=False, checks=[], error={"kind": "judge-failed", "line": None, "message": text("x")})
    app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
    assert words("coding.not_judged", lang) in html_of(app)
    assert words("coding.failed", lang) not in html_of(app)
    judge.verdict = verdict()
    press(app, "run")
    assert words("coding.passed", lang) in html_of(app)
    assert judge.asked == [("mha", CODE)] * 2


def test_what_a_submission_makes_the_judge_say_is_shown_and_not_obeyed(open_page: Open, judge: FakeJudge) -> None:
    evil = "<img src=x onerror=alert(1)> `<b>` **bold**"
    check = {"id": "runs", "passed": False, "title": text("runs"), "detail": text(evil)}
    judge.verdict = verdict(
        passed=False,
        checks=[check],
        error={"kind": "raises", "line": None, "message": text(evil)},
        divergence=text(evil + "`"),
        trace=[step(text=evil, kind=evil, op=evil, line=evil, shape=[evil], stride=[evil], error=None)],
        printed=evil,
    )
    app = run(open_page("coding_room", problem="mha"), CODE)
    assert "<img" not in html_of(app)
    assert "<b>" not in html_of(app).replace("<b>&lt;img", "")  # a chip's own
    assert "&lt;img src=x onerror=alert(1)&gt; <code>&lt;b&gt;</code> **bold**" in html_of(app)
    assert evil in [code.value for code in app.code]


def test_the_own_run_is_listed_and_a_long_one_is_cut(open_page: Open, judge: FakeJudge, lang: Lang) -> None:
    long = step(text="x.\n" + "long." * 60 + "view(2, 3)", shape=None, stride=None, error="RuntimeError")
    judge.verdict = verdict(trace=[step(), long, *[step()] * steps.MOST])
    app = run(open_page("coding_room", problem="mha", lang=lang), CODE)
    _, *rows = html_of(app).split('class="hw-steps"')[1].split("<tr")[1:]
    assert len(rows) == steps.MOST
    assert "x.view(2, 3)" in rows[0]
    assert "(3, 1)" in rows[0]
    assert ">view(2, 3)<" in rows[1]
    assert words("walk.kind.error", lang) in rows[1]
    assert words("coding.steps.more", lang, count=2) in written(app)


def test_the_same_text_is_judged_once_more_when_it_is_run_once_more(open_page: Open, judge: FakeJudge) -> None:
    app = run(open_page("coding_room", problem="mha"), CODE)
    press(app, "hint")  # a rerun is no run
    assert len(judge.asked) == 1
    press(app, "run")
    assert judge.asked == [("mha", CODE)] * 2


def test_the_other_language_keeps_everything_and_judges_nothing(open_page: Open, judge: FakeJudge) -> None:
    judge.verdict = WRONG
    app = press(run(open_page("coding_room", problem="mha"), CODE), "hint")
    type_in(app, "later").sidebar.segmented_control(key="lang").set_value("zh").run()
    assert not app.exception
    assert editor_of(app)["text"] == "later"
    assert editor_of(app)["marks"][0]["message"] == FINDING["message"]["zh"]
    assert words("coding.failed", "zh") in html_of(app)
    assert words("coding.changed", "zh") in written(app)
    assert rich(problem("mha").hints[0]["zh"]) in written(app)
    assert len(judge.asked) == 1


def test_each_problem_keeps_its_own_draft_and_verdict(open_page: Open, judge: FakeJudge) -> None:
    app = run(open_page("coding_room", problem="mha"), CODE)
    app.selectbox(key="problem").set_value("gqa").run()
    assert editor_of(app)["text"] == problem("gqa").starter
    assert editor_of(app)["draft"] == "headwise:draft:coding_gqa"
    assert not is_judged(app)
    assert app.query_params["problem"] == "gqa"
    type_in(app, "mine", "gqa").selectbox(key="problem").set_value("mha").run()
    assert editor_of(app)["text"] == CODE
    assert words("coding.passed") in html_of(app)
    app.selectbox(key="problem").set_value("gqa").run()
    assert editor_of(app)["text"] == "mine"
    assert len(judge.asked) == 1


def test_another_page_and_back_keeps_the_room(open_page: Open) -> None:
    app = press(run(open_page("coding_room", problem="mha"), CODE), "hint")
    app.switch_page("question.py").run()
    app.switch_page("coding_room.py").run()
    assert app.selectbox(key="problem").value == "mha"
    assert editor_of(app)["text"] == CODE
    assert words("coding.passed") in html_of(app)
    assert app.button(key="coding_hint").label == words("coding.hint", number=2, last=len(problem("mha").hints))


def test_after_passing_the_next_problem_is_a_click_away(open_page: Open) -> None:
    ids = [one.id for one in problems()]
    app = press(run(open_page("coding_room", problem="mha"), CODE), "next")
    assert app.selectbox(key="problem").value == ids[ids.index("mha") + 1]
    app = run(open_page("coding_room", problem=ids[-1]), CODE, ids[-1])
    assert words("coding.passed") in html_of(app)
    assert not has(app, "next")


def test_hints_come_one_by_one_and_the_solution_asks_first(open_page: Open, lang: Lang) -> None:
    app = open_page("coding_room", problem="mha", lang=lang)
    own = problem("mha")
    for number, hint in enumerate(own.hints, 1):
        assert rich(hint[lang]) not in written(app)
        press(app, "hint")
        assert rich(hint[lang]) in written(app)
        assert all(rich(later[lang]) not in written(app) for later in own.hints[number:])
    assert not has(app, "hint")

    source = pitfalls.reference("mha").source.strip()
    press(app, "solution")
    assert words("coding.solution.sure", lang) in written(app)
    press(app, "solution_no")
    press(press(app, "solution"), "solution_yes")
    shown = [code.value for code in app.code]
    assert [pitfalls.reference(name).source.strip() in shown for name in ("mha", *own.also)] == [True] * (
        1 + len(own.also)
    )
    press(app, "solution_no")
    assert source not in [code.value for code in app.code]


def test_the_solution_is_not_shown_before_it_is_asked_for_twice(open_page: Open) -> None:
    app = press(open_page("coding_room", problem="mha"), "solution")
    assert pitfalls.reference("mha").source.strip() not in [code.value for code in app.code]


def test_back_to_the_start_and_back_again(open_page: Open) -> None:
    app = open_page("coding_room", problem="mha")
    assert not has(app, "reset")
    run(app, CODE)
    press(app, "reset")
    assert editor_of(app)["text"] == problem("mha").starter
    assert not is_judged(app)
    assert not has(app, "reset")
    press(app, "restore")
    assert editor_of(app)["text"] == CODE


# The real judge ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Iterator[Judge]:
    with Judge() as started:
        yield started


def test_the_seeds_answer_passes_and_without_its_transpose_is_found_out(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, real: Judge, lang: Lang
) -> None:
    monkeypatch.setattr(cache, "judge", lambda: real)
    app = run(open_page("coding_room", problem="mha", lang=lang), SEED)
    assert words("coding.passed", lang) in html_of(app)
    run(app, SEED.replace("out = out.transpose(1, 2).contiguous()", "out = out.contiguous()"))
    assert words("coding.failed", lang) in html_of(app)
    assert "merge-no-transpose" in html_of(app)
    line = next(i for i, line in enumerate(SEED.splitlines(), 1) if "contiguous" in line)
    assert [mark["line"] for mark in editor_of(app)["marks"]] == [line]


def test_the_server_has_one_judge_and_the_page_does_not_wait_for_it() -> None:
    SERVERS_JUDGE.clear()
    try:
        started = SERVERS_JUDGE()
        assert SERVERS_JUDGE() is started
    finally:
        SERVERS_JUDGE.clear()
