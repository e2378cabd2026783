"""The quiz page: each kind answered, the score, the links, the summary, and what is said where something is wrong."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.errors import Lang
from core.quiz import Bank, bank, kinds, load_bank, run_proof
from pages._ui import cache, state
from pages._ui.quiz import modes, view
from pages._ui.quiz.asking import ASK
from pages._ui.quiz.showing import SHOWN
from pages._ui.quiz.sitting import ALL, Sitting, plan
from pages._ui.text import rich
from pages._ui.walk.runs import Setup
from tests.pages.quizzing import (
    BLANK,
    KINDS,
    NUMBER,
    ONE,
    SEVERAL,
    SHAPE,
    STRIDES,
    Open,
    answer,
    asked,
    asked_in,
    finish,
    html_of,
    now_asked,
    option,
    score,
    sound,
    type_in,
    words,
)

# Answering -----------------------------------------------------------------------------------------------------------


def test_the_kinds_that_are_tested_are_all_there_are() -> None:
    assert {asked(id_).kind for id_ in KINDS} == ASK.keys() == SHOWN.keys() == set(kinds.KINDS)


@pytest.mark.parametrize("question_id", KINDS)
@pytest.mark.parametrize("is_right", [True, False])
def test_an_answer_is_judged_explained_and_proved(
    open_page: Open, question_id: str, is_right: bool, lang: Lang
) -> None:
    question = asked(question_id)
    app = open_page("quiz", lang=lang, question=question_id)
    sound(app)
    assert run_proof(question).output not in [code.value for code in app.code]

    answer(app, question_id, is_right)
    sound(app)
    shown = html_of(app)
    assert (f">{words('quiz.right', lang)}<" in shown) == is_right
    assert (f">{words('quiz.wrong', lang)}<" in shown) == (not is_right)
    assert words("quiz.mark.right" if is_right else "quiz.mark.wrong", lang) in shown
    assert (words("quiz.mark.missed", lang) in shown) == (not is_right)
    assert {run.output for run in run_proof(question).runs} <= {code.value for code in app.code}
    assert question.program in [code.value for code in app.code]
    assert rich(question.explanation[lang]) in [text.value for text in app.markdown]
    score(app, lang, int(is_right), 1)


def test_the_pitfall_is_named_only_afterwards(open_page: Open) -> None:
    """Its name would give the answer away."""
    app = open_page("quiz", question=ONE)
    assert "split-no-transpose" not in html_of(app)
    assert "split-no-transpose" in html_of(answer(app, ONE))


def test_the_first_answer_stands(open_page: Open) -> None:
    """Two clicks before the page is drawn anew are one answer."""
    question = asked(ONE)
    twice = Sitting().answer(question, "raises").answer(question, "heads-meet-per-token")
    assert (twice.right, twice.answered, twice.answers[ONE].given) == (0, 1, "raises")
    app = answer(open_page("quiz", question=ONE), ONE, False)
    assert not [button for button in app.button if str(button.key).startswith("quiz_option_")]


@pytest.mark.parametrize("question_id", [SHAPE, NUMBER, STRIDES, BLANK])
def test_what_cannot_be_read_is_explained_and_does_not_count(open_page: Open, question_id: str, lang: Lang) -> None:
    app = type_in(open_page("quiz", lang=lang, question=question_id), question_id, "*no* [idea](x) <b>")
    assert not app.exception
    (error,) = app.error
    for part in ("frame.given", "frame.expected", "frame.action"):
        assert words(part, lang) in error.value
    assert "\\*no\\* \\[idea\\]\\(x\\) \\<b\\>" in error.value
    assert app.text_input(key=f"quiz_typed_{question_id}").value == "*no* [idea](x) <b>"
    assert words("quiz.score", lang, right=0, answered=0) not in html_of(app)
    answer(app, question_id)
    sound(app)
    score(app, lang, 1, 1)


def test_what_was_typed_is_shown_as_it_was_typed(open_page: Open) -> None:
    app = type_in(open_page("quiz", question=SHAPE), SHAPE, "（4，128，12，64）")
    assert "（4，128，12，64）" in html_of(app)
    assert "(4, 12, 128, 64)" in html_of(app)


def test_several_choices_wait_for_a_choice_and_can_be_taken_back(open_page: Open) -> None:
    app = open_page("quiz", question=SEVERAL)
    submit = f"quiz_submit_{SEVERAL}"
    assert app.button(key=submit).disabled
    option(app, SEVERAL, "row-sums").click().run()
    assert not app.button(key=submit).disabled
    option(app, SEVERAL, "row-sums").click().run()
    assert app.button(key=submit).disabled
    score(answer(app, SEVERAL), "en", 1, 1)


def test_another_language_keeps_the_answer_the_choice_and_the_score(open_page: Open) -> None:
    app = answer(open_page("quiz", lang="en", question=ONE), ONE)
    app.button(key="quiz_next").click().run()
    type_in(app, SHAPE, "(4, 12, ?")
    app.segmented_control(key="lang").set_value("zh").run()
    assert app.text_input(key=f"quiz_typed_{SHAPE}").value == "(4, 12, ?"
    assert words("frame.action", "zh") in app.error[0].value
    score(app, "zh", 1, 1)

    app = open_page("quiz", lang="en", question=SEVERAL)
    option(app, SEVERAL, "row-sums").click().run()
    app.segmented_control(key="lang").set_value("zh").run()
    assert not app.button(key=f"quiz_submit_{SEVERAL}").disabled
    app.button(key=f"quiz_submit_{SEVERAL}").click().run()
    app.segmented_control(key="lang").set_value("en").run()
    assert words("quiz.mark.wrong", "en") in html_of(app)
    assert app.selectbox(key="topic").value == "split"
    score(app, "en", 0, 1)


def test_another_page_keeps_the_sitting(open_page: Open) -> None:
    app = answer(open_page("quiz", lang="en", question=ONE), ONE)
    app.switch_page("question.py").run()
    app.switch_page("quiz.py").run()
    assert app.selectbox(key="topic").value == "split"
    assert f">{words('quiz.right', 'en')}<" in html_of(app)
    score(app, "en", 1, 1)


# Choosing ------------------------------------------------------------------------------------------------------------


def test_every_question_opens_by_its_link(open_page: Open, lang: Lang) -> None:
    app = open_page("quiz", lang=lang)
    for question in load_bank().questions[lang == "zh" :: 2]:  # the one half in each language: both have all words
        app.query_params["question"] = question.id
        app.run()
        sound(app)
        assert app.selectbox(key="topic").value == question.topic
        assert app.query_params["question"] == question.id


def test_a_link_opens_topic_and_level(open_page: Open) -> None:
    app = open_page("quiz", topic="mask", level="2")
    assert app.selectbox(key="topic").value == "mask"
    assert app.segmented_control(key="level").value == "2"
    assert words("quiz.level.of", "en", level=2) in html_of(app)


def test_the_question_of_a_link_wins_over_its_topic(open_page: Open) -> None:
    app = open_page("quiz", topic="mask", level="3", question=ONE)
    assert app.selectbox(key="topic").value == "split"
    assert app.segmented_control(key="level").value == ALL
    assert option(app, ONE, "raises")


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "<script>alert(1)</script>", "`*x*`" * 99, "split", "gen-none-s1"]
)
def test_an_unknown_id_is_named_and_there_is_a_way_on(open_page: Open, hostile: str, lang: Lang) -> None:
    app = open_page("quiz", lang=lang, question=hostile)
    sound(app)
    (warning,) = app.warning
    assert warning.value.startswith(words("quiz.unknown", lang, name="").split("`")[0])
    assert not set("<>*/") & set(warning.value)
    assert len(warning.value) < 250
    first = plan(load_bank(), "heads", ALL)[0]
    assert app.query_params["question"] == first.id
    assert not app.run().warning


@pytest.mark.parametrize("query", [{"topic": "../x"}, {"level": "9"}, {"level": "二"}, {"topic": ""}])
def test_an_unknown_topic_or_level_opens_the_first(open_page: Open, query: dict[str, str]) -> None:
    app = open_page("quiz", **query)
    sound(app)
    assert app.selectbox(key="topic").value == "heads"
    assert app.segmented_control(key="level").value == ALL


def test_a_level_without_questions_says_so_and_shows_the_way_on(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    monkeypatch.setattr(modes, "learn", lambda bank, topic, level: () if level == "2" else ("heads-score-rank",))
    app = open_page("quiz", lang=lang, topic="heads", level="2")
    assert [info.value for info in app.info] == [words("quiz.nothing", lang)]
    app.button(key="quiz_all_levels").click().run()
    assert not app.info
    assert app.segmented_control(key="level").value == ALL


def test_another_topic_moves_to_its_first_open_question(open_page: Open) -> None:
    app = open_page("quiz", question=ONE)
    app.selectbox(key="topic").select("mask").run()
    assert app.query_params["question"] == plan(load_bank(), "mask", ALL)[0].id
    app.button(key="quiz_skip").click().run()
    assert app.query_params["question"] == plan(load_bank(), "mask", ALL)[1].id


def test_the_plan_is_the_same_every_time_easy_first_and_mixes_topics() -> None:
    everything = plan(load_bank(), ALL, ALL)
    assert everything == plan(load_bank(), ALL, ALL)
    assert sorted(q.id for q in everything) == sorted(q.id for q in load_bank().questions)
    assert [q.level for q in everything] == sorted(q.level for q in everything)
    assert len({q.topic for q in everything[:5]}) == 5
    one = plan(load_bank(), "split", ALL)
    assert [q.level for q in one] == sorted(q.level for q in one)
    assert [q.id for q in one if q.level == 2] == [q.id for q in load_bank().of("split", 2)]


def test_progress_is_a_mark_for_each_question_and_a_bar_for_many(open_page: Open) -> None:
    app = open_page("quiz", topic="merge", level="1")
    last = len(asked_in("merge", "1"))
    answer(app, now_asked(app))
    assert html_of(app).count('<i class="hw-open"></i>') == last - 1 < view.MANY
    assert '<i class="hw-right hw-now">✓</i>' in html_of(app)
    assert 'class="hw-bar"' not in html_of(app)
    app.selectbox(key="topic").select(ALL).run()
    app.segmented_control(key="level").set_value(ALL).run()
    assert f'<b style="width: {1 / len(asked_in(ALL)):.1%}">' in html_of(app)


def test_what_comes_next_goes_round() -> None:
    questions = [question.id for question in plan(load_bank(), "heads", ALL)]
    sitting = Sitting()
    assert sitting.next_open(questions) == questions[0]
    assert sitting.next_open(questions, after=questions[-1]) == questions[0]
    assert sitting.next_open(questions[:1], after=questions[0]) is None
    assert sitting.next_open((), after=questions[0]) is None


# The end of a topic --------------------------------------------------------------------------------------------------


def test_the_end_of_a_topic_sums_up_and_wrong_ones_can_be_tried_again(open_page: Open, lang: Lang) -> None:
    app = open_page("quiz", lang=lang, topic="heads", level="1")
    done = finish(app, wrong=2)
    last, name = len(done), load_bank().topics[0].name[lang]
    assert last == len(asked_in("heads", "1"))
    assert words("quiz.summary", lang, topic=name, right=last - 2, last=last) in [s.value for s in app.subheader]

    looked = app.button(key=f"quiz_look_{done[1]}")
    assert asked(done[1]).prompt[lang][:20] in looked.label
    looked.click().run()
    assert words("quiz.wrong", lang) in html_of(app)
    assert app.button(key="quiz_next").label == words("quiz.result", lang)
    app.button(key="quiz_next").click().run()

    app.button(key="quiz_retry").click().run()
    score(app, lang, last - 2, last)
    assert finish(app, wrong=0) == done[:2]
    assert words("quiz.summary", lang, topic=name, right=last, last=last) in [s.value for s in app.subheader]
    score(app, lang, last, last + 2)

    app.button(key="quiz_next_topic").click().run()
    assert app.selectbox(key="topic").value == "split"
    assert app.query_params["question"] == asked_in("split", "1")[0]


def test_a_topic_can_be_started_over(open_page: Open) -> None:
    app = open_page("quiz", topic="merge", level="1")
    done = finish(app, wrong=0)
    app.button(key="quiz_restart").click().run()
    assert app.query_params["question"] == done[0]


# What can be wrong ---------------------------------------------------------------------------------------------------


@pytest.fixture
def use_bank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Bank]]:
    """use_bank(old, new): the page reads a copy of the bank in which `split.yaml` says `new` for `old`."""
    folder = tmp_path / "questions"
    shutil.copytree(bank.BANK, folder)

    def use(old: str, new: str) -> Bank:
        file = folder / "split.yaml"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        monkeypatch.setattr("core.quiz.load_bank", lambda: load_bank(folder))
        return load_bank(folder)

    yield use
    cache.proof.clear()


def test_questions_with_faults_are_left_out_and_named(
    open_page: Open, use_bank: Callable[..., Bank], lang: Lang
) -> None:
    faulty = use_bank("level: 1", "level: 9")
    assert faulty.faults
    app = open_page("quiz", lang=lang, topic="split")
    sound(app)
    assert [e.label for e in app.expander] == [words("quiz.left_out", lang, count=1)]
    assert [fault.text(lang) for fault in faulty.faults] == [c.value for c in app.code if ".yaml:" in c.value]
    answer(app, SHAPE)
    score(app, lang, 1, 1)
    app.query_params["question"] = ONE
    assert app.run().warning  # a link to what was left out


def test_a_sound_bank_says_nothing_of_faults(open_page: Open) -> None:
    assert not open_page("quiz").expander


def test_an_empty_bank_says_what_is_wrong(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lang: Lang
) -> None:
    monkeypatch.setattr("core.quiz.load_bank", lambda: load_bank(tmp_path))
    app = open_page("quiz", lang=lang)
    sound(app)
    assert [warning.value for warning in app.warning] == [words("quiz.no_questions", lang)]
    assert app.expander
    assert app.title[0].value == words("nav.quiz", lang)


def test_a_proof_that_refutes_the_key_is_said(open_page: Open, use_bank: Callable[..., Bank]) -> None:
    """The run is believed, and not the key: nothing hides that they differ."""
    use_bank("answer: heads-meet-per-token", "answer: heads-meet-tokens")
    app = answer(open_page("quiz", lang="en", question=ONE), ONE)
    assert not app.exception
    assert any("heads-meet-tokens" in error.value.replace("\\", "") for error in app.error)


# The way to the Shape walk -------------------------------------------------------------------------------------------


def test_the_link_to_the_walk_opens_the_step_of_the_variable(open_page: Open) -> None:
    for question in load_bank().questions:
        if question.walk:
            query = view._walk_query(question)
            kind = "gqa" if query[state.WALK_KIND] == "GQA" else "mha"
            step = cache.walk(Setup(kind))[int(query[state.WALK_STEP]) - 1]
            assert step.name == question.walk, question.id
    app = answer(open_page("quiz", lang="en", question=ONE), ONE)
    link, *mistakes = (element.proto for element in app.get("page_link"))
    assert link.label == words("quiz.walk", "en")
    assert len(mistakes) == len(asked(ONE).pitfalls)
    assert all(mistake.label.startswith(words("question.see", "en")) for mistake in mistakes)
    assert link.query_string == "attention=MHA&mistake=none&step=12"


def test_under_gqa_the_walk_shows_the_repeated_keys() -> None:
    query = view._walk_query(asked("gqa-expand-lines"))
    step = cache.walk(Setup("gqa"))[int(query[state.WALK_STEP]) - 1]
    assert (step.name, step.op) == ("k", "repeat_interleave")
