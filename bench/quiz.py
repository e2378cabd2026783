"""python -m bench.quiz: how long a rerun of the quiz takes, with many answers in the store.

A question is shown, answered (which keeps the answer, runs the proof and dates the review) and left for the next one;
each is a rerun of the whole page, timed on the server without a browser. The first questions are not counted: torch is
imported with the first proof.
"""

import argparse
import logging
import os
import random
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta

from streamlit.testing.v1 import AppTest

from bench.measure import quantile_95
from core.progress import GivenAnswer, open_store
from core.quiz import OneChoice, load_bank
from tools.server import ROOT

BUDGET = 0.150  # seconds that 95 % of reruns stay within
WARM_UP = 3


def fill(url: str, answers: int) -> None:
    """A store in which somebody has answered for weeks."""
    store, questions, rng = open_store(url), load_bank().questions, random.Random(0)
    now = datetime.now(UTC)
    for number in range(answers):
        question = rng.choice(questions)
        given = GivenAnswer(
            question=question.id,
            card=question.id,
            given="any",
            right=rng.random() < 0.7,
            seconds=rng.uniform(3, 90),
            mode="learn",
            pitfalls=question.pitfalls,
            topic=question.topic,
            kind=question.kind,
            level=question.level,
            at=now - timedelta(minutes=5 * (answers - number)),
        )
        store.answer(given)
    store.close()


def reruns(rounds: int) -> dict[str, list[float]]:
    """Seconds of each rerun, by what it is for."""
    times: dict[str, list[float]] = defaultdict(list)
    questions = [question for question in load_bank().questions if isinstance(question, OneChoice)][: rounds + WARM_UP]
    app = AppTest.from_file(ROOT / "pages" / "_frame.py", default_timeout=120).run()
    app.session_state["topic"] = "all"
    app.switch_page("quiz.py").run()
    app.session_state["quiz_sitting"] = type(app.session_state["quiz_sitting"])()  # nothing answered yet

    def timed(what: str, number: int) -> None:
        began = time.perf_counter()
        app.run()
        if number >= WARM_UP:
            times[what].append(time.perf_counter() - began)

    for number, question in enumerate(questions):
        app.session_state["question"] = question.id
        timed("a question is shown", number)
        app.button(key=f"quiz_option_{question.id}_{question.answer}").click()
        timed("it is answered", number)
        app.run()
        timed("its answer is shown again", number)
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="how long a rerun of the quiz takes")
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    wanted = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit warns of each run that no browser asked for
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADWISE_DB"] = f"sqlite:///{folder}/headwise.db"
        fill(os.environ["HEADWISE_DB"], wanted.answers)
        print(f"{wanted.answers:,} answers in the store")
        for what, seconds in reruns(wanted.rounds).items():
            slow = quantile_95(seconds)
            over = "" if slow <= BUDGET else "  OVER"
            print(f"{what:30} 95 % within {slow * 1e3:6.1f} ms  (budget {BUDGET * 1e3:g} ms){over}")
