"""What there is to answer, by mode: learning by topic, what is due, weak spots, an exam.

Ids of questions alone: a drawn question is made only when it is shown.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from core.progress import summary
from core.quiz import Bank, Question, card_of, generators
from pages._ui import cache, state
from pages._ui.quiz import record
from pages._ui.quiz.sitting import ALL, plan

LEARN, REVIEW, WEAK, EXAM = MODES = ("learn", "review", "weak", "exam")
ROUND = 20
"""Questions of one round of reviews, of weak spots, or of an exam."""


class Round(NamedTuple):
    """The questions of a round, and what it is about (a pitfall; of reviews nothing)."""

    about: str
    ids: tuple[str, ...]


_NO_ROUND = Round("", ())


def resolve(bank: Bank, question_id: str) -> Question | None:
    """The question with this id, a drawn one too; None where there is none. An id from a link may be anything."""
    if generators.parse(question_id):
        return cache.drawn(question_id)
    return bank.question(question_id)


def seed() -> int:
    """What the drawn questions of this session come from, until they are drawn anew."""
    if state.get(state.QUIZ_SEED, None) is None:
        draw_anew()
    return state.get(state.QUIZ_SEED, 0)


def draw_anew() -> None:
    """Let drawn questions be other ones from now on."""
    state.put(state.QUIZ_SEED, random.SystemRandom().randrange(generators.SEEDS))


def draw_as(question_id: str) -> None:
    """Let drawn questions come from the same seed as the one with this id, so that it is among them."""
    _, its_seed = card_of(question_id)
    if its_seed is not None:
        state.put(state.QUIZ_SEED, its_seed)


def learn(bank: Bank, topic: str, level: str) -> tuple[str, ...]:
    """The written questions, then one of each generator of the topic and the level."""
    written = [question.id for question in plan(bank, topic, level)]
    drawn = [
        f"{one.id}-s{seed()}"
        for one in generators.GENERATORS.values()
        if topic in (ALL, one.topic) and level in (ALL, str(one.level))
    ]
    return (*written, *drawn)


def due(bank: Bank, now: datetime) -> list[str]:
    """The cards that are due and whose question is still there, the longest due first."""
    known = {question.id for question in bank.questions} | generators.GENERATORS.keys()
    return [card for card in cache.store().due(now) if card in known]


def _as_questions(cards: Sequence[str]) -> tuple[str, ...]:
    """A question of each card: of a generator's, another one each time."""
    draw_anew()
    return tuple(f"{card}-s{seed()}" if card in generators.GENERATORS else card for card in cards)


def review(bank: Bank) -> tuple[str, ...]:
    """A round of what is due; it stays until a new one is asked for."""
    return _round(REVIEW, "", lambda: due(bank, datetime.now(UTC))[:ROUND])


def weak(bank: Bank, pitfall: str) -> tuple[str, ...]:
    """A round of questions on a pitfall, those answered wrongly first, then those never asked."""

    def draw() -> list[str]:
        written = [question.id for question in bank.questions if pitfall in question.pitfalls]
        cards = [*written, *(one.id for one in generators.GENERATORS.values() if pitfall in one.pitfalls)]
        last = cache.store().last_answers(cards)
        rank = {card: 1 if card not in last else 2 if last[card].right else 0 for card in cards}
        return sorted(cards, key=rank.__getitem__)[:ROUND]

    return _round(WEAK, pitfall, draw)


def _round(mode: str, about: str, draw: Callable[[], Sequence[str]]) -> tuple[str, ...]:
    key = f"{state.QUIZ_ROUND}_{mode}"
    kept = state.get(key, _NO_ROUND)
    if kept.ids and kept.about == about:
        return kept.ids
    ids = _as_questions(draw())
    state.put(key, Round(about, ids))
    record.keep(record.sitting().again(ids))
    return ids


def new_round(mode: str) -> None:
    """Let the next round of `mode` be another one. A callback."""
    state.forget(f"{state.QUIZ_ROUND}_{mode}")
    state.forget(state.QUIZ_MADE)
    state.put(state.QUIZ_QUESTION, "")


def enter() -> None:
    """Begin a new round where the last one is through. A callback of the choice of the mode."""
    mode = state.choice(state.QUIZ_MODE, MODES, LEARN)
    if not record.sitting().next_open(state.get(f"{state.QUIZ_ROUND}_{mode}", _NO_ROUND).ids):
        new_round(mode)


def pitfalls(bank: Bank) -> dict[str, int]:
    """The pitfalls that are asked about, with how often each was made: most first, then as they are taught.

    Counted when weak spots are opened, and again with each new round: the list must not move under a hand.
    """
    made = state.get(state.QUIZ_MADE, {})
    if not made:
        asked = dict.fromkeys(pitfall for question in bank.questions for pitfall in question.pitfalls)
        counted = summary.mistakes(summary.read(cache.store()), limit=len(asked))
        counts = {mistake.pitfall: mistake.times for mistake in counted}
        made = {pitfall: counts.get(pitfall, 0) for pitfall in sorted(asked, key=lambda one: -counts.get(one, 0))}
        state.put(state.QUIZ_MADE, made)
    return made


def draw_exam(bank: Bank, rng: random.Random) -> tuple[str, ...]:
    """Questions for an exam: topics in turn, so that all are met; of each, written and drawn ones alike."""
    by_topic: dict[str, list[str]] = defaultdict(list)
    for question in bank.questions:
        by_topic[question.topic].append(question.id)
    for one in generators.GENERATORS.values():
        by_topic[one.topic].append(f"{one.id}-s{rng.randrange(generators.SEEDS)}")
    decks = list(by_topic.values())
    for deck in [*decks, decks]:
        rng.shuffle(deck)
    ids: list[str] = []
    while len(ids) < ROUND and any(decks):
        ids += [deck.pop() for deck in decks if deck]
    return tuple(ids[:ROUND])


def topic_of(bank: Bank, question_id: str) -> str:
    """The topic of a question, without making it."""
    card, _ = card_of(question_id)
    if card in generators.GENERATORS:
        return generators.GENERATORS[card].topic
    question = bank.question(question_id)
    return question.topic if question else ""
