"""Practising over time: what is kept, what comes back and when, weak spots, exams, and a store that fails."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from core import pitfalls
from core.errors import Lang, Unavailable
from core.progress import Rating
from core.quiz import Question, generators, load_bank
from pages._ui import cache
from pages._ui.quiz import exam, modes
from pages._ui.text import rich
from tests.pages.quizzing import (
    KINDS,
    ONE,
    SHAPE,
    Open,
    answer,
    asked,
    finish,
    html_of,
    now_asked,
    option,
    sound,
    type_in,
    words,
    wrong_answer,
)

# Kept, and coming back -----------------------------------------------------------------------------------------------


def test_an_answer_is_kept_with_all_that_is_known_of_it(open_page: Open) -> None:
    answer(open_page("quiz", question=ONE), ONE, False)
    (kept,) = cache.store().answers()
    question = asked(ONE)
    assert (kept.question, kept.card, kept.given, kept.right) == (ONE, ONE, wrong_answer(question), False)
    assert (kept.topic, kept.pitfalls, kept.level, kept.kind) == ("split", question.pitfalls, 1, "one-choice")
    assert (kept.mode, kept.seed) == ("learn", None)
    assert 0 < kept.seconds < 60
    assert (datetime.now(UTC) - kept.at).total_seconds() < 60


@pytest.mark.parametrize("question_id", KINDS)
def test_another_session_finds_the_answer(open_page: Open, question_id: str, lang: Lang) -> None:
    """What was answered of each kind goes through the store and is shown as it was."""
    first = answer(open_page("quiz", lang=lang, question=question_id), question_id, False)
    second = open_page("quiz", lang=lang, question=question_id)
    sound(second)
    assert words("quiz.mark.wrong", lang) in html_of(second)
    rows = [re.findall(r'<div class="hw-options">.*', html_of(app), re.DOTALL)[0] for app in (first, second)]
    assert rows[0].split('<div class="hw-verdict')[0] == rows[1].split('<div class="hw-verdict')[0]
    assert words("quiz.score", lang, right=0, answered=1) not in html_of(second)  # a sitting of its own


def test_the_grade_can_be_changed_and_moves_the_review(open_page: Open, lang: Lang) -> None:
    app = answer(open_page("quiz", lang=lang, question=ONE), ONE)
    before = cache.store().reviews()[ONE]
    grade = app.segmented_control(key=f"quiz_grade_{ONE}")
    assert grade.value in ("easy", "good")
    grade.set_value("again").run()
    after = cache.store().reviews()[ONE]
    assert after.due < before.due
    assert cache.store().answers()[0].rating == Rating.Again
    assert words("quiz.comes_back", lang, when="").rstrip("。. ") in " ".join(c.value for c in app.caption)


def test_pace_and_retention_are_a_persons_own(open_page: Open) -> None:
    app = open_page("quiz", question=ONE)
    app.slider(key="quiz_set_pace").set_value(2.0).run()
    app.slider(key="quiz_set_desired_retention").set_value(0.8).run()
    assert cache.store().setting("pace") == 2.0
    assert cache.store().setting("desired_retention") == 0.8
    assert open_page("quiz").slider(key="quiz_set_pace").value == 2.0


def test_review_asks_what_is_due_the_longest_due_first(open_page: Open, lang: Lang) -> None:
    drawn = next(iter(generators.GENERATORS))
    now = datetime.now(UTC)
    for number, card in enumerate([SHAPE, ONE, drawn, "retired-since"]):
        cache.store().make_due([card], now - timedelta(days=number + 1))
    app = open_page("quiz", lang=lang, practice="review")
    assert now_asked(app).id.startswith(f"{drawn}-s")
    done = finish(app, wrong=1)
    assert done[1:] == [ONE, SHAPE]
    assert words("quiz.summary", lang, topic=words("quiz.mode.review", lang), right=2, last=3) in [
        s.value for s in app.subheader
    ]
    assert {a.card: a.mode for a in cache.store().answers()} == dict.fromkeys([drawn, ONE, SHAPE], "review")
    assert [a.seed is not None for a in cache.store().answers()] == [False, False, True]


def test_review_without_anything_due_says_when_and_shows_the_way_on(open_page: Open, lang: Lang) -> None:
    app = open_page("quiz", lang=lang, practice="review")
    assert [info.value for info in app.info] == [words("quiz.review.empty", lang)]
    cache.store().make_due([ONE], datetime.now(UTC) + timedelta(days=3, minutes=1))
    app = open_page("quiz", lang=lang, practice="review")
    assert words("quiz.in.days", lang, count=3) in app.info[0].value
    app.button(key="quiz_to_learn").click().run()
    assert app.selectbox(key="topic")


def test_weak_spots_come_by_how_often_a_mistake_was_made(open_page: Open, lang: Lang) -> None:
    answer(open_page("quiz", question=ONE), ONE, False)  # split-no-transpose
    app = open_page("quiz", lang=lang, practice="weak")
    assert app.selectbox(key="pitfall").value == "split-no-transpose"
    assert words("quiz.pitfall.made", lang, title="", count=1).strip() in app.selectbox(key="pitfall").options[0]
    assert now_asked(app).id == ONE  # answered wrongly: first, and open once more
    assert option(app, ONE, "raises")
    while "question" in app.query_params:
        assert "split-no-transpose" in now_asked(app).pitfalls
        answer(app, now_asked(app))
        app.button(key="quiz_next").click().run()
    app.button(key="quiz_new_round").click().run()
    assert "question" in app.query_params


def test_a_link_opens_a_weak_spot(open_page: Open) -> None:
    app = open_page("quiz", practice="weak", pitfall="scale-missing")
    assert app.selectbox(key="pitfall").value == "scale-missing"
    assert "scale-missing" in now_asked(app).pitfalls


def test_a_drawn_question_opens_by_its_link(open_page: Open, lang: Lang) -> None:
    app = open_page("quiz", lang=lang)
    for id_ in list(generators.GENERATORS)[lang == "zh" :: 2]:  # the one half in each language: both have all words
        app.query_params["question"] = f"{id_}-s7"
        app.run()
        sound(app)
        assert app.query_params["question"] == f"{id_}-s7"
        answer(app, now_asked(app))
        sound(app)
        assert f">{words('quiz.right', lang)}<" in html_of(app)


def test_a_typed_value_that_a_mistake_gives_is_named(open_page: Open, lang: Lang) -> None:
    asked = "gen-mask-cells-of-a-chunk-s1"
    question = generators.generate("gen-mask-cells-of-a-chunk", 1)
    said = words("quiz.fallen_into", lang, title=pitfalls.entry("causal-ignores-cache").title[lang])
    app = open_page("quiz", lang=lang, question=asked)
    type_in(app, asked, str(question.mistakes["causal-ignores-cache"]))  # ty: ignore[unresolved-attribute]
    assert rich(said) in " ".join(text.value for text in app.markdown)
    app = open_page("quiz", lang=lang, question="gen-mask-cells-of-a-chunk-s2")
    type_in(app, "gen-mask-cells-of-a-chunk-s2", "12345")
    assert rich(said).split("「")[0][:12] not in " ".join(text.value for text in app.markdown)


# An exam -------------------------------------------------------------------------------------------------------------


def test_an_exam_tells_at_the_end(open_page: Open, lang: Lang) -> None:
    app = open_page("quiz", lang=lang, practice="exam")
    app.button(key="quiz_begin").click().run()
    for number in range(modes.ROUND):
        question = now_asked_in_exam(app)
        answer(app, question, number >= 3)
        sound(app)
        if number < modes.ROUND - 1:
            assert f">{words('quiz.right', lang)}<" not in html_of(app)
    assert words("quiz.exam.result", lang, right=modes.ROUND - 3, last=modes.ROUND) in [s.value for s in app.subheader]
    kept = cache.store().answers()
    assert len(kept) == modes.ROUND
    assert {a.mode for a in kept} == {"exam"}
    assert len({a.topic for a in kept}) == len(load_bank().topics)
    wrong = kept[-1].question
    app.button(key=f"quiz_look_{wrong}").click().run()
    assert f">{words('quiz.wrong', lang)}<" in html_of(app)
    answered = app.session_state["quiz_sitting"]
    app.session_state["quiz_sitting"] = answered.again([wrong])  # tried once more, outside the exam
    app.segmented_control(key="practice").set_value("exam").run()
    assert words("quiz.exam.result", lang, right=modes.ROUND - 3, last=modes.ROUND) in [s.value for s in app.subheader]
    app.button(key="quiz_another").click().run()
    assert app.button(key="quiz_begin")


def now_asked_in_exam(app: AppTest) -> Question:
    shown = {id_ for id_ in app.session_state["quiz_exam"].ids if id_ == app.session_state["question"]}
    question = modes.resolve(load_bank(), shown.pop())
    assert question
    return question


def test_an_exam_goes_on_in_another_session_and_ends_by_the_clock(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page("quiz", practice="exam")
    app.button(key="quiz_begin").click().run()
    first = now_asked_in_exam(app)
    answer(app, first)
    again = open_page("quiz", practice="exam")
    assert again.session_state["quiz_exam"] == app.session_state["quiz_exam"]
    assert now_asked_in_exam(again).id != first.id
    again.button(key="quiz_skip").click().run()
    assert "quiz_hand_in" in [button.key for button in again.button]

    monkeypatch.setattr(exam, "MINUTES", 0)
    again.run()
    assert words("quiz.exam.result", "en", right=1, last=modes.ROUND) in [s.value for s in again.subheader]
    late = open_page("quiz", practice="exam")  # the result stays until another is begun
    assert words("quiz.exam.result", "en", right=1, last=modes.ROUND) in [s.value for s in late.subheader]


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"ids": ["gone"], "started": "2026-01-01T00:00:00Z"}', '{"ids": 1}'])
def test_an_exam_that_cannot_be_read_is_none(open_page: Open, kept: str) -> None:
    cache.store().save_draft(exam.DRAFT, kept)
    app = open_page("quiz", practice="exam")
    sound(app)
    assert app.button(key="quiz_begin")


# A store that fails --------------------------------------------------------------------------------------------------


def test_what_cannot_be_kept_is_said_and_practising_goes_on(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    app = open_page("quiz", lang=lang, question=ONE)

    def full(*_: object) -> None:
        raise Unavailable("progress.disk-full", place="headwise.db")

    monkeypatch.setattr(type(cache.store()), "answer", full)
    answer(app, ONE)
    assert not app.exception
    assert f">{words('quiz.right', lang)}<" in html_of(app)
    (error,) = app.error
    assert words("frame.action", lang) in error.value
    app.button(key="quiz_next").click().run()
    sound(app)


def test_what_cannot_be_read_stops_no_question(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise Unavailable("progress.disk-full", place="headwise.db")

    for name in ("last_answers", "setting", "answer"):
        monkeypatch.setattr(type(cache.store()), name, gone)
    app = open_page("quiz", lang="en", question=ONE)
    sound(app)
    answer(app, ONE)
    assert f">{words('quiz.right', 'en')}<" in html_of(app)
