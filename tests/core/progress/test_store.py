"""What is kept comes back as it was, on SQLite and on PostgreSQL."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from core.errors import BadInput
from core.progress import Rating, State, Store, open_store, schedule
from core.progress.schedule import Logged
from tests.core.progress.samples import DAY, NOW, given


def test_an_answer_is_kept_rated_and_its_card_comes_back(store: Store) -> None:
    recorded = store.answer(given(seconds=45.0, given={"a": [1, 2.0, "头\0", None]}, seed=-(2**63)))
    assert recorded.rating == Rating.Hard
    expected = schedule.after(schedule.new(NOW), Rating.Hard, NOW)
    assert recorded.review == store.reviews()["split-shape"] == expected
    (answer,) = store.answers()
    assert (answer.id, answer.rating, answer.rated_at) == (recorded.answer_id, Rating.Hard, NOW)
    assert answer.given == {"a": [1, 2.0, "头\0", None]}
    assert (answer.seed, answer.pitfalls, answer.at) == (-(2**63), ("split-view-direct",), NOW)


@pytest.mark.parametrize("value", ["2.0", 2.0, 2, "00", "1e999", None, True, [], {}, "", 10**30])
def test_json_is_not_taken_for_something_else(store: Store, value: Any) -> None:
    store.answer(given(given=value))
    store.set_setting("kept", value)
    for found in (store.answers()[0].given, store.setting("kept", "nothing")):
        assert (found, type(found)) == (value, type(value))


def test_the_card_is_what_its_log_makes_of_it(store: Store) -> None:
    log = []
    for number, (right, seconds) in enumerate([(True, 5.0), (False, 5.0), (True, 100.0), (True, 15.0)]):
        at = NOW + number * number * DAY
        recorded = store.answer(given(right=right, seconds=seconds, at=at))
        log.append(Logged(at, recorded.answer_id, recorded.rating))
        assert recorded.review == schedule.replay(log, None)
    assert [entry.rating for entry in log] == [Rating.Easy, Rating.Again, Rating.Hard, Rating.Good]


def test_an_answer_that_comes_late_takes_its_place_in_the_log(store: Store) -> None:
    times = [NOW, NOW + 9 * DAY, NOW + 4 * DAY]
    kept = [store.answer(given(at=at, right=at != times[2])) for at in times]
    log = [Logged(at, one.answer_id, one.rating) for at, one in zip(times, kept, strict=True)]
    assert kept[-1].review == store.reviews()["split-shape"] == schedule.replay(log, None)
    assert store.last_answers()["split-shape"].at == times[1]


def test_the_person_knows_better_than_the_clock(store: Store) -> None:
    first = store.answer(given())
    second = store.answer(given(at=NOW + 5 * DAY))
    review = store.regrade(first.answer_id, Rating.Again, at=NOW + 6 * DAY)
    log = [Logged(NOW, first.answer_id, Rating.Again), Logged(NOW + 5 * DAY, second.answer_id, second.rating)]
    assert review == store.reviews()["split-shape"] == schedule.replay(log, None)
    assert review != second.review
    answer = store.answers()[1]
    assert (answer.rating, answer.rated_at, answer.right) == (Rating.Again, NOW + 6 * DAY, True)
    with pytest.raises(BadInput, match="id of an answer"):
        store.regrade("f" * 32, Rating.Good)


def test_answers_are_found_the_newest_first(store: Store) -> None:
    for number, card in enumerate(["a", "b", "a", "c"]):
        store.answer(given(card, at=NOW + number * DAY))
    assert [answer.card for answer in store.answers()] == ["c", "a", "b", "a"]
    assert [answer.at for answer in store.answers(question="a")] == [NOW + 2 * DAY, NOW]
    assert [answer.card for answer in store.answers(since=NOW + 2 * DAY)] == ["c", "a"]
    assert [answer.card for answer in store.answers(limit=1)] == ["c"]
    store.answer(given("d", at=NOW, right=False))
    assert [outcome.card for outcome in store.outcomes(right=True)] == ["c", "a", "b", "a"]
    assert [(outcome.card, outcome.right, outcome.at) for outcome in store.outcomes(right=False)] == [("d", False, NOW)]
    assert len(store.outcomes()) == 5


def test_the_last_answer_of_each_card(store: Store) -> None:
    for number, right in enumerate([True, False]):
        store.answer(given("a", at=NOW + number * DAY, right=right))
    store.answer(given("b", question="b-s1", at=NOW - DAY))
    store.make_due(["c"], NOW)  # which has no answer
    assert {card: answer.right for card, answer in store.last_answers().items()} == {"a": False, "b": True}
    assert set(store.last_answers(["b", "c", "nowhere"])) == {"b"}
    assert set(store.last_answers([f"card {number}" for number in range(2000)] + ["a"])) == {"a"}
    assert store.last_answers([]) == {}


def test_what_is_due_comes_in_order(store: Store) -> None:
    store.answer(given("late", at=NOW - 30 * DAY))
    store.answer(given("later", at=NOW - 20 * DAY))
    store.answer(given("not-yet", seconds=1.0, at=NOW))
    assert store.due(NOW) == ["late", "later"]
    assert store.due(NOW, among=["later", "not-yet"]) == ["later"]
    assert "not-yet" in store.due(NOW + 30 * DAY)


def test_a_mistake_elsewhere_makes_cards_due(store: Store) -> None:
    review = store.answer(given("known", seconds=1.0)).review
    assert review.due > NOW + DAY
    store.make_due(["known", "new"], NOW + DAY)
    reviews = store.reviews()
    assert {card: (review.due, review.reps) for card, review in reviews.items()} == {
        "known": (NOW + DAY, 1),
        "new": (NOW + DAY, 0),
    }
    assert reviews["known"].stability == review.stability
    store.answer(given("new", at=NOW + 2 * DAY))
    assert store.reviews()["new"] == schedule.after(schedule.new(NOW), Rating.Good, NOW + 2 * DAY)


def test_submissions_come_back_whole_or_in_short(store: Store) -> None:
    verdict = {"passed": False, "checks": [{"id": "runs", "detail": "头"}]}
    id_ = store.submit("mha", "x = 1\0\n", verdict, False, ["scale-missing"], NOW, "write", seconds=61.5)
    store.submit("gqa", "pass", {}, True, [], NOW + DAY, "write")
    assert [one.problem for one in store.submissions()] == ["gqa", "mha"]
    assert [one.problem for one in store.submissions(limit=1)] == ["gqa"]
    (found,) = store.submissions(problem="mha")
    assert (found.id, found.source, found.verdict) == (id_, "x = 1\0\n", verdict)
    (short,) = store.attempts(problem="mha")
    assert (short.id, short.pitfalls, short.seconds) == (id_, ("scale-missing",), 61.5)
    assert store.attempts()[0].seconds is None
    assert not hasattr(short, "source")


def test_the_last_draft_counts(store: Store) -> None:
    assert (store.draft("mha"), store.drafts()) == (None, {})
    store.save_draft("mha", "class A", at=NOW)
    store.save_draft("gqa", "", at=NOW + DAY)
    store.save_draft("mha", "class B:\n    头 \0", at=NOW + 2 * DAY)
    assert store.draft("mha") == "class B:\n    头 \0"
    assert [(key, draft.at) for key, draft in store.drafts().items()] == [
        ("mha", NOW + 2 * DAY),
        ("gqa", NOW + DAY),
    ]


def test_settings(store: Store) -> None:
    assert store.setting("theme") is None
    assert store.setting("theme", "light") == "light"
    store.set_setting("theme", None)
    assert store.setting("theme", "light") is None
    store.answer(given("before", seconds=45.0))
    store.set_setting("pace", 2.5)
    assert store.answer(given("after", seconds=45.0)).rating == Rating.Good
    assert store.answers(question="before")[0].rating == Rating.Hard  # what was rated stays


def test_another_retention_moves_every_date_at_once(store: Store) -> None:
    for card in ("a", "b"):
        store.answer(given(card, seconds=1.0))
    store.make_due(["c"], NOW)
    before = store.reviews()
    store.set_setting("desired_retention", 0.95)
    after = store.reviews()
    assert all(after[card].due < before[card].due for card in ("a", "b"))
    assert all(after[card].stability == before[card].stability for card in "abc")
    assert after["c"].due == NOW
    assert store.answer(given("d", seconds=1.0)).review.due == after["a"].due


@pytest.mark.parametrize(
    ("key", "value"), [("pace", 0), ("pace", "1"), ("pace", True), ("desired_retention", 1.0), ("pace", float("nan"))]
)
def test_a_setting_that_cannot_be_is_refused(file_url: str, key: str, value: Any) -> None:
    store = open_store(file_url)
    with pytest.raises(BadInput) as raised:
        store.set_setting(key, value)
    assert "a number from" in raised.value.parts("en").expected
    assert store.setting(key) is None
    store.close()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seconds", float("nan")),
        ("seconds", -1.0),
        ("right", 1),
        ("card", ""),
        ("card", "a\0b"),
        ("card", "x" * 201),
        ("question", "\ud800"),
        ("given", {"a": {1, 2}}),
        ("given", float("inf")),
        ("given", "x" * 30_000),
        ("seed", 2**63),
        ("level", 4),
        ("pitfalls", "scale-missing"),
        ("at", datetime(2026, 12, 1)),
        ("at", NOW.replace(year=9999)),
        ("at", "2026-12-01T00:00:00Z"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_field(file_url: str, field: str, value: Any) -> None:
    store = open_store(file_url)
    with pytest.raises(BadInput) as raised:
        store.answer(replace(given(), **{field: value}))
    assert str(raised.value.params["field"]).split(".")[0] == field
    assert (store.answers(), store.reviews()) == ((), {})
    store.close()


def test_every_time_is_utc_whatever_it_was_given_in(store: Store) -> None:
    shanghai = timezone(timedelta(hours=8))
    review = store.answer(given(at=NOW.astimezone(shanghai))).review
    (answer,) = store.answers(since=NOW.astimezone(shanghai))
    assert (answer.at, answer.at.utcoffset(), review.last_review) == (NOW, timedelta(0), NOW)
    assert store.due(review.due.astimezone(shanghai)) == ["split-shape"]


def test_a_new_card_is_learnt_in_steps(store: Store) -> None:
    review = store.answer(given()).review
    assert (review.state, review.due) == (State.Learning, NOW + timedelta(minutes=10))
