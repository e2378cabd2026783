"""Every cached loader, each bounded. Shared objects are frozen: nobody writes to what comes from here.

What brings torch with it is imported where it is used: a page that needs no torch does not wait for it.
"""

import os
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

import streamlit as st

from core import content
from core.judge import Judge
from core.progress import open_store
from core.quiz import ProofResult, Question, generators, run_proof
from core.quiz.filling import Filler

if TYPE_CHECKING:
    from core.lm.model import Attention, Model
    from core.progress import Store
    from core.trace import Trace
    from pages._ui.progress.profile import Profile
    from pages._ui.walk.mistakes import Mistake
    from pages._ui.walk.owned import Setup as OwnSetup
    from pages._ui.walk.owned import Walked
    from pages._ui.walk.runs import Setup


@st.cache_resource(max_entries=64, show_spinner=False)
def walk(setup: "Setup") -> "Trace":
    """The trace of a set-up; the same set-up is run once."""
    from pages._ui.walk.runs import run

    trace = run(setup)
    _ = trace.steps  # built here, while one session waits, and not by several at once
    return trace


@st.cache_resource(max_entries=64, show_spinner=False)
def mistake(pitfall_id: str) -> "Mistake":
    """A mistake run and walked beside the right code, once."""
    from pages._ui.walk.mistakes import run

    return run(pitfall_id)


@st.cache_resource(max_entries=16, show_spinner=False)
def own_walk(setup: "OwnSetup") -> "Walked":
    """A person's code walked; the same code is run once. What there is to say instead is raised, and not kept."""
    from pages._ui.walk.owned import walk

    return walk(judge(), setup)


@st.cache_data(max_entries=1, show_spinner=False)
def answer_output() -> str:
    """What the standard answer prints, run once."""
    return content.run_standard_answer()


@st.cache_data(max_entries=32, show_spinner=False)
def outcome(pitfall_id: str) -> content.Outcome:
    """A mistake put into the standard answer, run once."""
    return content.demonstrate(pitfall_id)


@st.cache_resource(max_entries=256, show_spinner=False)
def proof(question: Question) -> ProofResult:
    """The proof of a question's answer, run once."""
    return run_proof(question)


@st.cache_resource(max_entries=256, show_spinner=False)
def drawn(question_id: str) -> Question | None:
    """A question of a generator, made once; None where there is no such generator."""
    parsed = generators.parse(question_id)
    return generators.generate(*parsed) if parsed else None


@st.cache_resource(max_entries=1, show_spinner=False, on_release=Filler.close)
def filler() -> Filler:
    """What runs the text of a blank; it starts a process when it is first asked."""
    return Filler()


def store() -> "Store":
    """Where answers, reviews and submissions are kept."""
    return _store(os.environ.get("HEADWISE_DB"))


@st.cache_resource(max_entries=4, show_spinner=False, on_release=lambda store: store.close())
def _store(url: str | None) -> "Store":
    return open_store(url)


def profile(now: datetime, zone: tzinfo) -> "Profile":
    """What was done, and the figures of it. Raises Unavailable where it cannot be read.

    It is made anew when something was done (each answer changes a card), and every five minutes.
    """
    kept = store()
    reviews, attempts = kept.reviews(), kept.attempts()
    since = now.replace(minute=now.minute // 5 * 5, second=0, microsecond=0)
    changed = hash((frozenset(reviews.items()), attempts))
    return _profile(kept, reviews, attempts, zone, kept.place, kept.profile, changed, since, str(zone))


@st.cache_resource(max_entries=8, show_spinner=False)
def _profile(_store, _reviews, _attempts, _zone, place, name, changed, since, zone) -> "Profile":
    from core.progress.summary import History
    from pages._ui.progress.profile import Profile

    return Profile(History(_store.outcomes(), _reviews, _attempts), since, _zone)


@st.cache_resource(max_entries=2, show_spinner=False)
def model(model_id: str) -> "Model":
    """A language model, loaded once for all sessions."""
    from core import lm

    return lm.load(model_id)


@st.cache_resource(max_entries=4, show_spinner=False)
def attention(model_id: str, text: str) -> "Attention":
    """The attention of every head on `text`. At its longest SmolLM2's takes 283 MB, hence so few."""
    return model(model_id).attend(text)


@st.cache_resource(max_entries=1, show_spinner=False, on_release=Judge.close)
def judge() -> Judge:
    """The judge of this server. It imports torch in a process of its own, and is at it when this returns."""
    started = Judge()
    started.warm()
    return started
