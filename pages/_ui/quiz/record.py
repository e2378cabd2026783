"""What was answered: in this session, and in the store, where every answer goes at once."""

import time
from collections.abc import Collection
from datetime import UTC, datetime

from core.errors import Explained, Unavailable
from core.progress import GivenAnswer, Rating, Recorded
from core.quiz import Question, card_of, load_bank
from pages._ui import cache, state
from pages._ui.quiz.sitting import Answer, Sitting


def sitting() -> Sitting:
    """What was answered in this session; at its start, what this profile answered last stands."""
    if state.get(state.QUIZ_SITTING, None) is None:
        keep(Sitting(answers=_kept([question.id for question in load_bank().questions])))
    return state.get(state.QUIZ_SITTING, Sitting())


def keep(changed: Sitting) -> None:
    """Make `changed` the sitting of this session."""
    state.put(state.QUIZ_SITTING, changed)


def _kept(question_ids: Collection[str]) -> dict[str, Answer]:
    try:
        last = cache.store().last_answers(question_ids)
    except Unavailable:
        return {}
    return {answer.question: Answer(answer.given, answer.right) for answer in last.values()}


def take_up(question_ids: Collection[str], since: datetime) -> None:
    """Open these questions, but for the answers given to them since then (in another session, maybe)."""
    answers = {a.question: Answer(a.given, a.right) for a in cache.store().answers(since=since)}
    opened = sitting().again(question_ids)
    found = {id_: answers[id_] for id_ in question_ids if id_ in answers}
    keep(Sitting({**opened.answers, **found}, opened.drafts, opened.refused, opened.right, opened.answered))


# Answering -----------------------------------------------------------------------------------------------------------


def showing(question: Question) -> None:
    """Start the clock of a question that is shown and not answered yet, unless it runs."""
    if state.get(state.QUIZ_SHOWN, ("", 0.0))[0] != question.id:
        state.put(state.QUIZ_SHOWN, (question.id, time.monotonic()))


def give(question: Question, given: object) -> None:
    """`given` as the answer to `question`, into the sitting and into the store. A callback."""
    before = sitting()
    after = before.answer(question, given, cache.filler() if question.kind == "blank" else None)
    keep(after)
    if question.id in after.answers and question.id not in before.answers:
        _store(question, after.answers[question.id])


def _store(question: Question, answer: Answer) -> None:
    shown, since = state.get(state.QUIZ_SHOWN, ("", 0.0))
    card, seed = card_of(question.id)
    made = GivenAnswer(
        question=question.id,
        card=card,
        given=answer.given,  # ty: ignore[invalid-argument-type]  the store checks that it is JSON
        right=answer.right,
        seconds=time.monotonic() - since if shown == question.id else 0.0,
        mode=state.get(state.QUIZ_MODE, "learn"),
        seed=seed,
        pitfalls=question.pitfalls,
        topic=question.topic,
        kind=question.kind,
        level=question.level,
        at=datetime.now(UTC),
    )
    try:
        _remember(question.id, cache.store().answer(made))
        state.put(state.QUIZ_UNSAVED, None)
    except Unavailable as error:
        state.put(state.QUIZ_UNSAVED, error)


def unsaved() -> Explained | None:
    """Why the last answer could not be kept; None where it is."""
    error = state.get(state.QUIZ_UNSAVED, None)
    return error if isinstance(error, Explained) else None


# Grading -------------------------------------------------------------------------------------------------------------


def _remember(question_id: str, recorded: Recorded) -> None:
    state.put(state.QUIZ_RECORDED, {**state.get(state.QUIZ_RECORDED, {}), question_id: recorded})


def recorded(question_id: str) -> Recorded | None:
    """How the answer of this session to a question was graded, and when it comes back."""
    return state.get(state.QUIZ_RECORDED, {}).get(question_id)


def regrade(question_id: str, rating: Rating) -> None:
    """Grade that answer as the person would. A callback."""
    was = recorded(question_id)
    if was is None:
        return
    try:
        review = cache.store().regrade(was.answer_id, rating)
        _remember(question_id, Recorded(was.answer_id, rating, review))
    except Unavailable as error:
        state.put(state.QUIZ_UNSAVED, error)
