"""Where a person left off: what is due, and the topic or the problem worked on last that is not finished."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import streamlit as st

from core.errors import Unavailable
from core.judge.problems import problems
from core.progress import Answer, Attempt
from core.quiz import Bank, generators, load_bank
from pages._ui import cache, links
from pages._ui.i18n import lang, t


class Left(NamedTuple):
    """Something to go on with: when it was worked on last, and the link to it."""

    at: datetime
    page_id: str
    label: str
    query: dict[str, str]


def show() -> None:
    """One line of links, empty where nothing was done yet. That a store cannot be read is told where it is needed."""
    try:
        store = cache.store()
        last, reviews, attempts = store.last_answers(), store.reviews(), store.attempts()
        drafts = {key: draft.at for key, draft in store.drafts().items()}
    except Unavailable:
        return
    if not (reviews or attempts or drafts):
        return
    bank = load_bank()
    topics = {card.id: card.topic for card in (*bank.questions, *generators.GENERATORS.values())}
    now = datetime.now(UTC)
    due = sum(card in topics and review.due <= now for card, review in reviews.items())
    left = [*_topics(bank, topics, last.values()), *_problems(attempts, drafts)]
    with st.container(horizontal=True, gap="small"):
        if due:
            links.link_to("quiz", t("home.go_on.due", count=due), practice="review")
        if left:
            newest = max(left, key=lambda one: one.at)
            links.link_to(newest.page_id, newest.label, **newest.query)


def _topics(bank: Bank, topics: Mapping[str, str], last: Iterable[Answer]) -> list[Left]:
    """The topics that were begun and have questions never answered."""
    names = {topic.id: topic.name[lang()] for topic in bank.topics}
    answered: dict[str, list[datetime]] = {}
    for answer in last:
        if answer.card in topics:
            answered.setdefault(topics[answer.card], []).append(answer.at)
    every = list(topics.values())
    return [
        Left(
            max(times),
            "quiz",
            t("home.go_on.topic", topic=names[topic], answered=len(times), last=every.count(topic)),
            {"practice": "learn", "topic": topic},
        )
        for topic, times in answered.items()
        if len(times) < every.count(topic)
    ]


def _problems(attempts: Iterable[Attempt], drafts: Mapping[str, datetime]) -> list[Left]:
    """The problems to be written that were tried, or begun, and were not right since."""
    tried = [attempt for attempt in attempts if attempt.mode == "write"]
    left = []
    for problem in problems():
        mine = [attempt for attempt in tried if attempt.problem == problem.id]  # the newest first
        drafted = drafts.get(f"coding_{problem.id}")
        worked = [attempt.at for attempt in mine] + ([drafted] if drafted else [])
        solved = next((attempt.at for attempt in mine if attempt.passed), None)
        if worked and (solved is None or max(worked) > solved):
            label = t("home.go_on.problem", title=problem.title[lang()])
            left.append(Left(max(worked), "coding_room", label, {"problem": problem.id}))
    return left
