"""What the coding room keeps: drafts, submissions with their verdicts, and mistakes, whose questions become due."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import Lang, Unavailable
from core.quiz import about, load_bank
from pages._ui import cache
from tests.pages.coding import CODE, ENTRY, WRONG, FakeJudge, editor_of, run, type_in, verdict, words

Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch) -> FakeJudge:
    fake = FakeJudge()
    monkeypatch.setattr(cache, "judge", lambda: fake)
    return fake


def test_a_submission_is_kept_with_its_verdict(open_page: Open, judge: FakeJudge) -> None:
    judge.verdict = WRONG
    run(open_page("coding_room", problem="mha"), CODE)
    judge.verdict = verdict()
    run(open_page("coding_room", problem="mha"), CODE + "# mended\n")
    last, first = cache.store().submissions("mha")
    assert (first.source, first.passed, first.pitfalls, first.mode) == (CODE, False, (ENTRY.id,), "write")
    assert (last.source, last.passed, last.pitfalls) == (CODE + "# mended\n", True, ())
    assert first.verdict["findings"] == WRONG["findings"]
    assert "trace" not in first.verdict
    assert first.seconds is not None
    assert (datetime.now(UTC) - last.at).total_seconds() < 60


def test_the_same_text_shown_again_is_no_further_submission(open_page: Open) -> None:
    app = run(open_page("coding_room", problem="mha"), CODE)
    app.run()
    assert len(cache.store().submissions()) == 1


def test_a_mistake_makes_its_questions_due(open_page: Open, judge: FakeJudge) -> None:
    assert not cache.store().due(datetime.now(UTC))
    judge.verdict = WRONG
    run(open_page("coding_room", problem="mha"), CODE)
    cards = about(load_bank(), [ENTRY.id])
    assert len(cards) > 2
    assert sorted(cache.store().due(datetime.now(UTC))) == sorted(cards)
    app = open_page("quiz", practice="review")
    assert app.query_params["question"].partition("-s")[0] in cards or app.query_params["question"] in cards


def test_the_mistake_of_a_task_is_not_the_persons_own(open_page: Open, judge: FakeJudge) -> None:
    judge.verdict = WRONG
    app = open_page("coding_room", problem="mha", mode="debug", seed="7")
    run(app, CODE, "mha_1_7")
    assert [kept.mode for kept in cache.store().submissions()] == ["debug"]
    assert not cache.store().due(datetime.now(UTC))


def test_what_could_not_be_judged_says_nothing_of_the_submission(open_page: Open, judge: FakeJudge) -> None:
    failed = {"kind": "judge-failed", "line": None, "message": {"en": "It ended.", "zh": "已结束。"}}
    judge.verdict = verdict(passed=False, checks=[], error=failed)
    run(open_page("coding_room", problem="mha"), CODE)
    assert not cache.store().submissions()


def test_a_draft_comes_back_in_another_session(open_page: Open) -> None:
    type_in(open_page("coding_room", problem="mha"), CODE).run()
    assert cache.store().draft("coding_mha") == CODE
    assert editor_of(open_page("coding_room", problem="mha"))["text"] == CODE
    assert editor_of(open_page("coding_room", problem="gqa"))["text"] != CODE


def test_what_cannot_be_kept_is_said_and_judging_goes_on(
    open_page: Open, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    app = open_page("coding_room", problem="mha", lang=lang)

    def full(*_: object, **__: object) -> None:
        raise Unavailable("progress.disk-full", place="headwise.db")

    monkeypatch.setattr(type(cache.store()), "submit", full)
    run(app, CODE)
    assert judge.asked == [("mha", CODE)]
    (warning,) = app.warning
    assert words("frame.action", lang) in warning.value
