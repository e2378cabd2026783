"""Progress: the figures are those of the store, each mistake has its ways, and everything leaves and comes back."""

import json
from collections.abc import Callable, Generator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core import pitfalls
from core.errors import Explained, Lang, Unavailable
from core.progress import GivenAnswer, Outcome, Store, anki, open_store, summary
from core.quiz import generators, load_bank
from pages._ui import cache, i18n, state
from pages._ui.progress import charts, keeping, known, profile, ways

Open = Callable[..., AppTest]
NOW = datetime.now(UTC)
WRONG, RIGHT = "merge-no-transpose", "mask-inverted"  # a pitfall that is fallen into, and one that is not
QUESTION = next(question for question in load_bank().questions if WRONG in question.pitfalls)
KNOWN = next(question for question in load_bank().questions if RIGHT in question.pitfalls)


def answer(store: Store, question, right: bool, days_ago: float) -> None:
    store.answer(
        GivenAnswer(
            question=question.id,
            card=question.id,
            given="x",
            right=right,
            seconds=15.0,
            mode="learn",
            pitfalls=question.pitfalls,
            topic=question.topic,
            kind=question.kind,
            level=question.level,
            at=NOW - timedelta(days=days_ago),
        )
    )


def submit(
    store: Store, problem: str, passed: bool, hours_ago: float, found: tuple[str, ...] = (), mode="write"
) -> None:
    at = NOW - timedelta(hours=hours_ago)
    store.submit(problem, "class X: ...", {"passed": passed}, passed, found, at, mode, seconds=120.0)


@pytest.fixture
def store() -> Generator[Store]:
    """A second connection to the store that the pages read."""
    opened = open_store()
    yield opened
    opened.close()


@pytest.fixture
def filled(store: Store) -> Store:
    """Two questions, one of them wrong twice; one problem solved at the second try and open again."""
    for right, days_ago in ((False, 3), (False, 2), (True, 1)):
        answer(store, QUESTION, right, days_ago)
    answer(store, KNOWN, True, 1)
    submit(store, "mha", False, 3, (WRONG,))
    submit(store, "mha", True, 2)
    submit(store, "mha", False, 1)
    submit(store, "gqa", False, 1, ("gqa-repeat-order",), mode="debug")
    return store


def words(key: str, lang: Lang, **params: object) -> str:
    return i18n.catalogue(lang)[key].format(**params)


def links(app: AppTest) -> list[tuple[str, str]]:
    return [(element.proto.page.rsplit("/", 1)[-1], element.proto.query_string) for element in app.get("page_link")]


def figures(app: AppTest) -> dict[str, dict]:
    names = ("topics", "ahead", "done", "pitfalls", "mistakes", "solving")
    return dict(zip(names, [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")], strict=False))


def said(app: AppTest) -> str:
    return "\n".join([element.proto.body for element in app.get("html")] + [one.value for one in app.caption])


# An empty profile ----------------------------------------------------------------------------------------------------


def test_an_empty_profile_is_told_how_to_begin(open_page: Open, store: Store, lang: Lang) -> None:
    app = open_page("progress", lang=lang)
    assert not app.exception
    assert not app.error
    assert app.title[0].value == words("nav.progress", lang)
    assert any(words("progress.empty", lang) in markdown.value for markdown in app.markdown)
    assert {page for page, _ in links(app)} == {"coding_room", "question"}
    assert app.button[0].label == words("progress.empty.quiz", lang)
    assert figures(app) == {}
    assert str(store.place) in said(app)
    assert len(app.file_uploader) == 1  # progress can come from another computer before there is any here


# Figures -------------------------------------------------------------------------------------------------------------


def test_a_filled_profile_is_drawn(open_page: Open, filled: Store, lang: Lang) -> None:
    app = open_page("progress", lang=lang)
    assert not app.exception
    assert not app.error
    assert [metric.value for metric in app.metric][3] == "4"
    drawn = figures(app)
    assert list(drawn) == ["topics", "ahead", "done", "pitfalls", "mistakes", "solving"]
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    assert len({chart.proto.alt for chart in app.get("plotly_chart")}) == 6
    names = [topic.name[lang] for topic in load_bank().topics]
    assert set(drawn["topics"]["layout"]["yaxis"]["ticktext"]) <= set(names)
    headings = [note["text"] for note in drawn["pitfalls"]["layout"]["annotations"]]
    assert headings == [group.title[lang] for group in pitfalls.groups()][: len(headings)]
    assert sum(sum(map(int, trace["y"])) for trace in drawn["done"]["data"]) == 4


def test_the_maps_say_what_the_summary_says(open_page: Open, filled: Store) -> None:
    app = open_page("progress")
    heat, hovers = figures(app)["topics"]["data"]
    cards = [*load_bank().questions, *generators.GENERATORS.values()]
    said_of = {one.group: one for one in summary.by_topic(summary.read(filled), cards, datetime.now(UTC))}
    ids = [topic.id for topic in load_bank().topics if topic.id in said_of]
    assert len(heat["z"]) == len(ids)
    for row, topic in enumerate(ids):
        assert heat["z"][row][-1] == pytest.approx(said_of[topic].known, abs=0.01)
        assert (heat["text"][row][-1] != "–") == (said_of[topic].answered > 0)
        level = summary.by_topic(summary.read(filled), [c for c in cards if c.level == 2], datetime.now(UTC))
        here = next((one for one in level if one.group == topic), None)
        assert (f"{here.answered} of {here.cards}" in hovers["text"][4 * row + 1]) if here else not heat["text"][row][1]


def test_reviews_that_are_overdue_stand_at_today_and_lead_to_the_quiz(open_page: Open, filled: Store) -> None:
    filled.make_due([KNOWN.id], NOW - timedelta(days=9))
    due = len(filled.due(datetime.now(UTC)))
    assert due
    app = open_page("progress")
    assert app.metric[0].value == str(due)
    assert words("progress.review", "en", count=due) in [button.label for button in app.button]
    assert int(figures(app)["ahead"]["data"][0]["y"][0]) >= due


def test_the_page_follows_the_store_at_once(open_page: Open, filled: Store) -> None:
    app = open_page("progress")
    before = figures(app)["done"]
    answer(filled, KNOWN, False, 0)
    app.run()
    assert app.metric[3].value == "5"
    assert figures(app)["done"] != before


def test_each_mistake_has_its_ways(open_page: Open, filled: Store, lang: Lang) -> None:
    app = open_page("progress", lang=lang)
    made = summary.mistakes(summary.read(filled))
    assert WRONG in [one.pitfall for one in made]
    assert "gqa-repeat-order" not in [one.pitfall for one in made]  # that one was put there by the task
    for one in made:
        assert pitfalls.entry(one.pitfall).title[lang].replace("`", "") in said(app).replace("&#x27;", "'")
        assert ("shape_walk", f"mistake={one.pitfall}") in links(app)
        assert ("quiz", f"practice=weak&pitfall={one.pitfall}") in links(app)
    assert ("coding_room", "problem=mha") in links(app)
    counts = words("progress.mistake", lang, answers=2, submissions=1, last="")[:-3]
    assert counts in said(app)


@pytest.mark.parametrize("pitfall", pitfalls.IDS)
def test_a_way_to_the_coding_room_leads_to_a_problem_in_which_the_mistake_can_be_made(pitfall: str) -> None:
    problem = ways.problem_of(pitfall)
    made_in = {pitfalls.reference(name).problem for form in pitfalls.entry(pitfall).forms for name in form.references}
    assert problem in made_in if problem else made_in == {""}


def test_solving_counts_up_to_the_right_submission(open_page: Open, filled: Store) -> None:
    app = open_page("progress")
    (line,) = figures(app)["solving"]["data"]
    assert [float(minutes) for minutes in line["y"]] == [4.0]  # two submissions of two minutes each
    assert ("coding_room", "problem=gqa&mode=debug") in links(app)
    labels = [element.proto.label for element in app.get("page_link")]
    assert words("progress.tries", "en", title="Multi-head attention", count=1) in labels


def test_answers_alone_are_enough(open_page: Open, store: Store, lang: Lang) -> None:
    answer(store, KNOWN, True, 0)
    app = open_page("progress", lang=lang)
    assert not app.exception
    assert words("progress.mistakes.none", lang) in said(app)
    assert words("progress.solving.none", lang) in said(app)


def test_what_no_longer_exists_does_not_break_the_page(open_page: Open, store: Store) -> None:
    gone = SimpleNamespace(id="gone", topic="gone", kind="one-choice", level=1, pitfalls=("gone-<b>",))
    answer(store, gone, False, 1)
    submit(store, "gone", True, 1)
    app = open_page("progress")
    assert not app.exception
    assert not app.error
    assert "gone-&lt;b&gt;" in said(app)
    assert not [query for _, query in links(app) if "gone" in query]


@pytest.mark.parametrize(
    "table", ["progress_topic", "progress_pitfall", "progress_ahead", "progress_done", "progress_solving"]
)
def test_each_figure_has_a_table(open_page: Open, filled: Store, table: str) -> None:
    app = open_page("progress")
    assert "<table" not in said(app)
    app.session_state[f"{table}_table"] = True
    app.run()
    assert not app.exception
    assert said(app).count("<table") == 1


def test_a_click_on_a_cell_chooses_its_pitfall(open_page: Open, filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    hovers = figures(open_page("progress"))["pitfalls"]["data"][1]["text"]
    place = next(i for i, hover in enumerate(hovers) if hover.startswith(f"<b>{pitfalls.entry(WRONG).title['en']}<"))
    at = known.places(known.pitfall_rows(profile.read())[1])
    assert len(at) == len(hovers)
    chosen: dict[str, object] = {}
    monkeypatch.setattr(state, "put", chosen.__setitem__)
    for clicked in ([place], [0], [], [99999]):  # 0 is a heading, none is a click that lets go
        monkeypatch.setattr(state, "get", lambda *_, to=clicked: {"selection": {"point_indices": to}})
        known.take_click("key", at)
    assert chosen == {"key": WRONG}


def test_a_link_opens_its_choices(open_page: Open, filled: Store) -> None:
    app = open_page("progress", progress_topic="rope", progress_pitfall=RIGHT)
    assert app.selectbox(key="progress_topic").value == "rope"
    assert app.selectbox(key="progress_pitfall").value == RIGHT
    assert ("quiz", "practice=learn&topic=rope") in links(app)
    assert open_page("progress", progress_topic="<x>").selectbox(key="progress_topic").value in {
        topic.id for topic in load_bank().topics
    }


def test_a_day_ends_when_it_does_for_the_person() -> None:
    late = datetime(2026, 3, 1, 20, tzinfo=UTC)
    done = Outcome(card=KNOWN.id, topic=KNOWN.topic, right=True, pitfalls=(), at=late)
    of = profile.Profile(summary.History((done,), {}, ()), late, ZoneInfo("Asia/Shanghai"))
    assert of.done[-1].day == date(2026, 3, 2)
    assert of.done[-1].answers == 1


def test_a_heat_map_keeps_each_cell_at_its_place() -> None:
    cell = charts.Cell(0.5, "50", "half")
    figure = charts.heat_map([[], [cell, charts.EMPTY], [cell]], ["Heading", "", ""], [])
    assert [list(row) for row in figure.data[0].z] == [[None, None], [0.5, None], [0.5, None]]
    assert [i for i, text in enumerate(figure.data[1].text) if text == "half"] == [2, 4]
    assert [note.text for note in figure.layout.annotations] == ["Heading"]


# Keeping -------------------------------------------------------------------------------------------------------------


def upload(app: AppTest, content: bytes) -> AppTest:
    return app.file_uploader[0].set_value(("progress.json", content, "application/json")).run()


def test_an_export_comes_back_through_the_page(open_page: Open, filled: Store, tmp_path: Path, lang: Lang) -> None:
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    answer(other, KNOWN, False, 5)
    answer(other, KNOWN, True, 4)
    submit(other, "sdpa", True, 50)
    exported = other.export()
    other.close()
    app = upload(open_page("progress", lang=lang), exported.encode())
    assert not app.exception
    assert not app.error
    assert len(filled.answers()) == 6
    added = [words(f"progress.added.{part}", lang, count=n) for part, n in (("answers", 2), ("submissions", 1))]
    assert all(one in app.success[0].value for one in added)
    assert app.metric[3].value == "6"
    again = upload(open_page("progress", lang=lang), exported.encode())
    assert again.success[0].value == words("progress.imported.nothing", lang)
    assert len(filled.answers()) == 6


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "progress.import-foreign"),
        (b"{", "progress.import-foreign"),
        (b"\xff\xfe\x00", "progress.import-foreign"),
        (b"[]", "progress.import-foreign"),
        (b'{"format": "headwise-progress", "version": 99}', "progress.import-newer"),
        (b'{"format": "headwise-progress", "version": 1, "answers": 3}', "progress.import-invalid"),
    ],
)
def test_a_malformed_import_is_refused_in_three_parts(
    open_page: Open, filled: Store, content: bytes, code: str, lang: Lang
) -> None:
    before = filled.export()
    app = upload(open_page("progress", lang=lang), content)
    assert not app.exception
    assert not app.success
    (error,) = app.error
    assert all(words(f"frame.{part}", lang) in error.value for part in ("given", "expected", "action"))
    with pytest.raises(Explained) as refused:
        filled.import_(keeping.text_of(content))
    assert refused.value.code == code
    given, *_ = refused.value.parts(lang)
    assert given in error.value.replace("\\", "")
    assert filled.export() == before


def test_the_export_is_the_stores(open_page: Open, filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = {}
    monkeypatch.setattr(st, "download_button", lambda label, data, **options: offered.update({label: (data, options)}))
    assert not open_page("progress").exception
    data, options = offered[words("progress.export.button", "en")]
    assert data() == filled.export()
    assert options["file_name"].endswith(".json")


def test_a_package_for_anki_is_made_of_the_chosen_topic(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    made = []

    def deck(questions, language, at=None) -> bytes:
        made.append(([question.id for question in questions], language))
        return b"package"

    monkeypatch.setattr(anki, "deck", deck)
    app = open_page("progress", lang=lang)
    app.selectbox(key="progress_anki_topic").select(QUESTION.topic).run()
    assert len(app.get("download_button")) == 1
    app.button(key="progress_anki_make").click().run()
    assert not app.exception
    assert made == [([one.id for one in load_bank().questions if one.topic == QUESTION.topic], lang)]
    assert len(app.get("download_button")) == 2
    app.selectbox(key="progress_anki_topic").select("all").run()
    assert len(app.get("download_button")) == 1  # what was made is not what is chosen now


# Where the store has trouble -----------------------------------------------------------------------------------------


def test_a_store_that_may_only_be_read_is_told_and_shown(
    open_page: Open, filled: Store, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    refusal = Unavailable("progress.read-only", place=filled.place)

    def refuse(text: str) -> None:
        raise refusal

    exported = filled.export()
    monkeypatch.setattr(filled, "notices", (refusal,))
    monkeypatch.setattr(filled, "import_", refuse)
    monkeypatch.setattr(cache, "store", lambda: filled)
    app = open_page("progress", lang=lang)
    assert not app.exception
    (notice,) = app.warning
    assert words("frame.action", lang) in notice.value
    assert len(figures(app)) == 6
    assert len(upload(app, exported.encode()).error) == 1


def test_a_damaged_store_is_told(open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "headwise.db").write_bytes(b"no database" * 500)
    app = open_page("progress")
    assert not app.exception
    assert len(app.warning) == 1
    assert any(words("progress.empty", "en") in markdown.value for markdown in app.markdown)


def test_a_store_in_memory_says_so(open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: Lang) -> None:
    monkeypatch.setenv("HEADWISE_DB", "sqlite://")
    assert words("progress.place.none", lang) in said(open_page("progress", lang=lang))


def test_a_store_that_cannot_be_read_is_explained(
    open_page: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise Unavailable("progress.unreachable", place="there", detail="gone")

    monkeypatch.setattr(store, "reviews", refuse)
    monkeypatch.setattr(cache, "store", lambda: store)
    app = open_page("progress")
    assert not app.exception
    assert len(app.error) == 1
