"""No profile sees or changes what is another's."""

import inspect
from collections.abc import Callable

import pytest

from core.errors import BadInput
from core.progress import Rating, Store
from core.progress.store import Store as StoreClass
from tests.core.progress.samples import DAY, NOW, fill, given

READS: dict[str, Callable[[Store], object]] = {
    "answers": lambda store: store.answers(),
    "outcomes": lambda store: store.outcomes(),
    "last_answers": lambda store: store.last_answers(["split-shape"]) or store.last_answers(),
    "reviews": lambda store: store.reviews(),
    "due": lambda store: store.due(NOW + 1000 * DAY),
    "submissions": lambda store: store.submissions() or store.submissions(problem="mha"),
    "attempts": lambda store: store.attempts(),
    "draft": lambda store: store.draft("mha"),
    "drafts": lambda store: store.drafts(),
    "setting": lambda store: store.setting("pace"),
    "export": lambda store: store.export() if "mha" in store.export() else None,
}
WRITES: dict[str, Callable[[Store], object]] = {
    "answer": lambda store: store.answer(given(at=NOW + DAY, right=False)),
    "make_due": lambda store: store.make_due(["split-shape", "mask-fill"], NOW + 9 * DAY),
    "submit": lambda store: store.submit("mha", "other", {}, True, [], NOW, "write"),
    "save_draft": lambda store: store.save_draft("mha", "other"),
    "set_setting": lambda store: (store.set_setting("pace", 3.0), store.set_setting("desired_retention", 0.8)),
}
OF_NO_PROFILE = {"of", "close", "place", "regrade", "import_"}  # the last two have tests of their own


def test_every_method_is_tried() -> None:
    methods = {name for name, _ in inspect.getmembers(StoreClass) if not name.startswith("_")}
    assert methods == READS.keys() | WRITES.keys() | OF_NO_PROFILE


@pytest.mark.parametrize("name", READS)
def test_another_profile_reads_nothing(store: Store, name: str) -> None:
    fill(store)
    assert READS[name](store)
    assert not READS[name](store.of("other"))


@pytest.mark.parametrize("name", WRITES)
def test_another_profile_changes_nothing(store: Store, name: str) -> None:
    fill(store)
    before, reviews = store.export(), store.reviews()
    WRITES[name](store.of("other"))
    assert store.of("other").export() != store.of("third").export()  # it did write, for itself
    assert (store.export(), store.reviews()) == (before, reviews)


@pytest.mark.parametrize("name", WRITES)
def test_what_is_anothers_does_not_count(store: Store, name: str) -> None:
    alone = store.of("alone")
    WRITES[name](alone)
    before = alone.reviews()
    fill(store)
    WRITES[name](store.of("other"))
    assert store.of("other").reviews() == alone.reviews() == before


def test_another_profiles_settings_do_not_count(store: Store) -> None:
    before = store.of("alone").answer(given(seconds=30.0))
    store.set_setting("pace", 0.2)
    store.set_setting("desired_retention", 0.97)
    after = store.of("other").answer(given(seconds=30.0))
    assert (after.rating, after.review) == (before.rating, before.review)
    assert store.answer(given(seconds=30.0)).rating != before.rating


def test_another_profile_cannot_rate_an_answer(store: Store) -> None:
    fill(store)
    before = store.export()
    with pytest.raises(BadInput):
        store.of("other").regrade(store.answers()[0].id, Rating.Easy)
    assert store.export() == before


def test_what_another_profile_imports_becomes_its_own(store: Store) -> None:
    fill(store)
    before, reviews = store.export(), store.reviews()
    other = store.of("other")
    other.import_(before)
    assert other.reviews() == reviews
    other.regrade(other.answers()[0].id, Rating.Easy)  # the same ids, other rows
    other.save_draft("mha", "other")
    assert (store.export(), store.reviews()) == (before, reviews)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 300])
def test_a_profile_has_a_name(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="profile"):
        store.of(name)
