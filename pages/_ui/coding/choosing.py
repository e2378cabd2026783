"""Which problem, and whether to write it or to repair it: from the link and from the row on top."""

import secrets
from dataclasses import dataclass

import streamlit as st

from core.errors import BadInput
from core.judge.problems import Problem, problem, problems
from pages._ui import chrome, state
from pages._ui.coding.debugging import Task, draw
from pages._ui.i18n import lang, t

WRITE, DEBUG = MODES = ("write", "debug")
MISTAKES = ("1", "2")
SEEDS = tuple(map(str, range(1, 1000)))


@dataclass(frozen=True)
class Room:
    """What is worked on: a problem to be written, or with `task` a broken solution to be repaired.

    `key` is the editor's; what belongs to this work alone is kept in the session under a key that begins with it.
    """

    problem: Problem
    task: Task | None
    key: str

    @property
    def starter(self) -> str:
        return self.task.source if self.task else self.problem.starter

    @property
    def draft(self) -> str:
        return f"headwise:draft:{self.key}"


def follow_link() -> None:
    """Take problem, mode and task from the link; what it names and does not exist is told."""
    ids = [one.id for one in problems()]
    unknown = state.unknown_in_link(state.CODING_PROBLEM, ids)
    state.linked(state.CODING_PROBLEM, ids, ids[0])
    state.linked(state.CODING_MODE, MODES, WRITE)
    state.linked(state.CODING_MISTAKES, MISTAKES, MISTAKES[0])
    state.linked(state.CODING_SEED, SEEDS, secrets.choice(SEEDS))
    if unknown is not None:
        try:
            problem(unknown[:60])
        except BadInput as error:
            chrome.explain(error)


def choose() -> Room:
    """The choices, in the row that is open, and what was chosen."""
    titles = {one.id: t("coding.problem.title", title=one.title[lang()], level=one.level) for one in problems()}
    st.selectbox(
        t("coding.problem"),
        list(titles),
        format_func=titles.__getitem__,
        key=state.CODING_PROBLEM,
        persist_state="session",
        width=280,
    )
    st.segmented_control(
        t("coding.mode"),
        MODES,
        format_func=lambda mode: t(f"coding.mode.{mode}"),
        key=state.CODING_MODE,
        required=True,
        persist_state="session",
        help=t("coding.mode.help"),
    )
    debug = state.choice(state.CODING_MODE, MODES, WRITE) == DEBUG
    if debug:
        st.segmented_control(
            t("coding.mistakes"), MISTAKES, key=state.CODING_MISTAKES, required=True, persist_state="session"
        )
        st.button(t("coding.another"), key="coding_another", icon=":material/casino:", on_click=another)
    state.link(state.CODING_PROBLEM, problems()[0].id)
    state.link(state.CODING_MODE, WRITE)
    for key, usual in ((state.CODING_MISTAKES, MISTAKES[0]), (state.CODING_SEED, "")):
        state.link(key, usual if debug else state.get(key, ""))  # in the link only where a task is shown
    return chosen()


def chosen() -> Room:
    """What is worked on now."""
    asked = problem(state.choice(state.CODING_PROBLEM, [one.id for one in problems()], problems()[0].id))
    if state.choice(state.CODING_MODE, MODES, WRITE) == WRITE:
        return Room(asked, None, f"coding_{asked.id}")
    count = state.choice(state.CODING_MISTAKES, MISTAKES, MISTAKES[0])
    seed = state.choice(state.CODING_SEED, SEEDS, SEEDS[0])
    return Room(asked, draw(asked.id, int(seed), int(count)), f"coding_{asked.id}_{count}_{seed}")


def written(problem_id: str) -> str:
    """The text that one has written to a problem so far; empty where there is only its starter, or nothing yet."""
    text = str(state.get(f"coding_{problem_id}_text", ""))
    return "" if text == problem(problem_id).starter else text


def another() -> None:
    """Another broken solution of the same problem. A callback."""
    now = state.get(state.CODING_SEED, "")
    state.put(state.CODING_SEED, secrets.choice([seed for seed in SEEDS if seed != now]))


def following(room: Room) -> Problem | None:
    """The problem after this one."""
    place = problems().index(room.problem) + 1
    return problems()[place] if place < len(problems()) else None


def go(problem_id: str) -> None:
    """On to another problem. A callback."""
    state.put(state.CODING_PROBLEM, problem_id)
