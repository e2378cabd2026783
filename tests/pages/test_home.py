"""The moving picture tells the truth about view and transpose, and one is led to where one left off."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.errors import Lang, Unavailable
from core.progress import GivenAnswer, Store, open_store
from core.quiz import Question, generators, load_bank
from core.quiz.generators import Generator as Drawing
from pages._ui import cache, home, i18n
from pages._ui.home import D_H, H, L, moving_picture, places
from pages._ui.links import ROOMS
from tests.architecture import ROOT

Open = Callable[..., AppTest]


def test_each_stage_lays_the_cells_out_as_torch_does() -> None:
    x = torch.arange(L * H * D_H).view(L, H * D_H)
    stages = [x, x.view(L, H, D_H), x.view(L, H, D_H).transpose(0, 1)]
    stages += [stages[2].transpose(0, 1), stages[2].transpose(0, 1).reshape(L, H * D_H)]
    for i, stage in enumerate(stages):
        cells = [(places(*divmod(int(e), H * D_H))[i], int(e)) for e in x.flatten()]
        by_row = sorted(cells, key=lambda cell: (cell[0][1], cell[0][0]))  # as read: row by row
        assert [element for _, element in by_row] == stage.flatten().tolist()
    blocks = [(places(*divmod(int(e), H * D_H))[2], int(e)) for e in x.flatten()]
    assert len({place for place, _ in blocks}) == L * H * D_H  # no two cells lie on one another


def test_a_gap_shows_where_an_axis_was_cut() -> None:
    whole, cut, blocks, *_ = zip(*(places(0, f) for f in range(H * D_H)), strict=True)
    assert {b[0] - a[0] for a, b in itertools.pairwise(whole)} == {1}
    assert [b[0] - a[0] for a, b in itertools.pairwise(cut)] == [1, 2, 1, 2, 1]
    assert {row for _, row in blocks} == {0, L + 1, 2 * (L + 1)}


def test_the_picture_says_what_it_shows() -> None:
    assert "aria-label=" in moving_picture()
    assert moving_picture().count("<i ") == L * H * D_H


# Going on ------------------------------------------------------------------------------------------------------------


def links_of(app: AppTest) -> list[tuple[str, str]]:
    """The links that open a page in a state: those of the cards have none."""
    found = [(one.proto.page.rsplit("/", 1)[-1], one.proto.query_string) for one in app.get("page_link")]
    return [(page, query) for page, query in found if query]


def answered(store: Store, question: Question | Drawing, right: bool, hours_ago: float) -> None:
    store.answer(
        GivenAnswer(
            question=question.id,
            card=question.id,
            given="x",
            right=right,
            seconds=15.0,
            mode="learn",
            topic=question.topic,
            at=datetime.now(UTC) - timedelta(hours=hours_ago),
        )
    )


def in_topic(topic: str) -> list[Question]:
    return [question for question in load_bank().questions if question.topic == topic]


def tried(store: Store, problem: str, passed: bool, hours_ago: float, mode: str = "write") -> None:
    at = datetime.now(UTC) - timedelta(hours=hours_ago)
    store.submit(problem, "class X: ...", {"passed": passed}, passed, (), at, mode)


@pytest.fixture(autouse=True)
def imported() -> None:
    """As it is a moment after the first visit."""
    home.importing().join()


@pytest.fixture
def store() -> Generator[Store]:
    opened = open_store()
    yield opened
    opened.close()


def test_every_room_has_its_card(open_page: Open, lang: Lang) -> None:
    app = open_page("home", lang=lang)
    assert not app.exception
    assert [one.proto.page.rsplit("/", 1)[-1] for one in app.get("page_link")] == ROOMS


@pytest.mark.usefixtures("store")
def test_an_empty_profile_has_nothing_to_go_on_with(open_page: Open, lang: Lang) -> None:
    app = open_page("home", lang=lang)
    assert links_of(app) == []
    assert [button.label for button in app.button] == [i18n.catalogue(lang)["home.start"]]


def test_what_is_due_leads_to_its_review(open_page: Open, store: Store, lang: Lang) -> None:
    first, second, *_ = in_topic("split")
    answered(store, first, False, 30)
    answered(store, second, True, 0)
    store.make_due(["a-question-that-is-gone"], datetime.now(UTC) - timedelta(hours=1))
    assert len(store.due(datetime.now(UTC))) == 2
    app = open_page("home", lang=lang)
    assert not app.exception
    assert links_of(app)[0] == ("quiz", "practice=review")
    labels = [one.proto.label for one in app.get("page_link")]
    assert i18n.catalogue(lang)["home.go_on.due"].format(count=1) in labels


def test_the_last_topic_that_is_not_finished_is_gone_on_with(open_page: Open, store: Store) -> None:
    answered(store, in_topic("rope")[0], True, 3)
    answered(store, in_topic("split")[0], True, 2)
    assert links_of(open_page("home"))[-1] == ("quiz", "practice=learn&topic=split")
    for card in (*in_topic("split"), *(one for one in generators.GENERATORS.values() if one.topic == "split")):
        answered(store, card, True, 1)
    assert links_of(open_page("home"))[-1] == ("quiz", "practice=learn&topic=rope")


def test_a_problem_is_gone_on_with_until_it_is_right(open_page: Open, store: Store, lang: Lang) -> None:
    answered(store, in_topic("split")[0], True, 5)
    tried(store, "gqa", False, 4)
    assert links_of(open_page("home", lang=lang))[-1] == ("coding_room", "problem=gqa")
    tried(store, "gqa", True, 3)
    tried(store, "mha", False, 2, mode="debug")  # a task is drawn: no link leads back to it
    assert links_of(open_page("home", lang=lang))[-1] == ("quiz", "practice=learn&topic=split")
    store.save_draft("coding_gqa", "class X: ...  # once more", datetime.now(UTC))
    store.save_draft("coding_mha_1_7", "class X: ...", datetime.now(UTC))
    assert links_of(open_page("home", lang=lang))[-1] == ("coding_room", "problem=gqa")


def test_a_store_that_cannot_be_read_leaves_home_as_it_is(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise Unavailable("progress.unreachable", place="there", detail="gone")

    monkeypatch.setattr(cache, "store", refuse)
    app = open_page("home")
    assert not app.exception
    assert not app.error
    assert links_of(app) == []


def test_home_is_drawn_before_the_store_is_imported_and_takes_it_up_afterwards() -> None:
    """In a new process, where nothing is there yet."""
    run = subprocess.run([sys.executable, "-c", COLD], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


COLD = """
import sys
from datetime import UTC, datetime
from streamlit.testing.v1 import AppTest
from pages._ui import home
app = AppTest.from_file("pages/_frame.py", default_timeout=60).run()
assert not app.exception
cards = len(app.get("page_link"))
assert not {"sqlalchemy", "torch", "core.quiz"} & sys.modules.keys()
home.importing().join()
from core.progress import open_store
assert "torch" not in sys.modules
open_store().make_due(["split-right-shape"], datetime.now(UTC))
app.run()
assert not app.exception
assert len(app.get("page_link")) == cards + 1
"""
