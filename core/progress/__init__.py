"""What a person did, kept for good, and when a question comes back.

    store = open_store()                              # the person's own file, or what HEADWISE_DB says
    for notice in store.notices: ...                  # what had to be done about it, in both languages
    recorded = store.answer(GivenAnswer(...))         # on the disk when it returns
    store.regrade(recorded.answer_id, Rating.Hard)    # the person knows better
    store.due(now), store.last_answers(), store.reviews()
    store.import_(other.export())                     # merges; nothing is lost

`core.progress.summary` makes the figures of a history, `core.progress.anki` a package for Anki. Nothing here imports
SQLAlchemy before a store is opened.
"""

from typing import TYPE_CHECKING, Any

from core.progress.rating import rate
from core.progress.records import (
    Answer,
    Attempt,
    Draft,
    GivenAnswer,
    Imported,
    Outcome,
    Rating,
    Recorded,
    Review,
    State,
    Submission,
)
from core.progress.schedule import retrievability

if TYPE_CHECKING:
    from core.progress.store import Store


def open_store(url: str | None = None) -> "Store":
    """The store at `url` (any SQLAlchemy URL), else at $HEADWISE_DB, else in the user's data folder.

    It is made where it is missing. An older one is brought up to date, after a copy was laid beside it. A damaged file
    is moved aside and a fresh one started. A file that may only be read is read. Where nothing can be opened (a folder
    that may not be written, a server that does not answer, a store of a newer Headwise, which stays as it is) the
    store is kept in memory. Never raises for these: `Store.notices` says what happened.
    """
    from core.progress import _opening

    return _opening.open_store(url)


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from core.progress.store import Store

    return Store


__all__ = [
    "Answer",
    "Attempt",
    "Draft",
    "GivenAnswer",
    "Imported",
    "Outcome",
    "Rating",
    "Recorded",
    "Review",
    "State",
    "Store",
    "Submission",
    "open_store",
    "rate",
    "retrievability",
]
