"""The ways from a pitfall to where one gets rid of it."""

import streamlit as st

from core import pitfalls
from core.judge.problems import problems
from pages._ui import links
from pages._ui.i18n import lang, t


def title(pitfall: str) -> str:
    """What a pitfall is called, in plain letters; its id where the catalogue has none such (any more)."""
    return pitfalls.entry(pitfall).title[lang()].replace("`", "") if pitfall in pitfalls.IDS else pitfall


def show(pitfall: str, asked: bool) -> None:
    """Links: to see it run, to be asked about it (where `asked`), to write code without it."""
    if pitfall not in pitfalls.IDS:
        return
    with st.container(horizontal=True, gap="small"):
        links.link_to("shape_walk", t("progress.way.walk"), mistake=pitfall)
        if asked:
            links.link_to("quiz", t("progress.way.quiz"), practice="weak", pitfall=pitfall)
        if problem := problem_of(pitfall):
            links.link_to("coding_room", t("progress.way.code"), problem=problem)


def problem_of(pitfall: str) -> str | None:
    """The first coding problem in which the pitfall can be made."""
    made_in = {pitfalls.reference(name).problem for form in pitfalls.entry(pitfall).forms for name in form.references}
    return next((problem.id for problem in problems() if problem.id in made_in), None)
