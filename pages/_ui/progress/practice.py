"""What went wrong most, and how soon a problem was solved, each time anew."""

import html
from collections.abc import Sequence

import streamlit as st

from core.judge.problems import problems
from core.progress import summary
from core.progress.summary import Mistake, Series
from pages._ui import links, state
from pages._ui.i18n import lang, t
from pages._ui.progress import charts, ways
from pages._ui.progress.charts import RIGHT, WRONG, Bars, Line
from pages._ui.progress.profile import Profile
from pages._ui.text import table


def mistakes(profile: Profile) -> None:
    """The ten mistakes made most, and the way to each."""
    st.subheader(t("progress.mistakes"), anchor=False)
    made = profile.mistakes
    if not made:
        st.caption(t("progress.mistakes.none"))
        return
    parts = [
        Bars(t("progress.in_answers"), [one.answers for one in made], RIGHT),
        Bars(t("progress.in_submissions"), [one.submissions for one in made], WRONG, hatched=True),
    ]
    picture, listing = st.columns([2, 3], gap="medium")
    with picture:
        st.plotly_chart(
            profile.figure("mistakes", lambda: charts.ranks(parts, [ways.title(one.pitfall) for one in made])),
            config=charts.CONFIG,
            alt=t("progress.mistakes.alt", first=ways.title(made[0].pitfall), times=made[0].times),
        )
    with listing:
        for rank, one in enumerate(made, 1):
            _mistake(rank, one, profile)


def _mistake(rank: int, one: Mistake, profile: Profile) -> None:
    counts = t(
        "progress.mistake",
        answers=one.answers,
        submissions=one.submissions,
        last=one.last.astimezone(profile.zone).date().isoformat(),
    )
    with st.container(gap=None):
        st.html(
            f"<strong>{rank}. {html.escape(ways.title(one.pitfall))}</strong>"
            f'<div class="hw-small hw-mute">{counts}</div>'
        )
        ways.show(one.pitfall, asked=one.pitfall in profile.pitfalls)


def solving(profile: Profile) -> None:
    """How long it took until a submission was right, a line a problem; and what is not right yet."""
    st.subheader(t("progress.solving"), anchor=False)
    tried = summary.series(profile.history)
    if not tried:
        st.caption(t("progress.solving.none"))
        links.link_to("coding_room")
        return
    titles = {problem.id: problem.title[lang()] for problem in problems()}
    solved: dict[tuple[str, str], list[Series]] = {}
    still_open: list[Series] = []
    for one in (one for every in tried.values() for one in every):
        if one.solved:
            solved.setdefault((one.problem, one.mode), []).append(one)
        else:
            still_open.append(one)

    def name(problem: str, mode: str) -> str:
        title = titles.get(problem, problem)
        return t("progress.repaired", title=title) if mode == summary.REPAIRING else title

    if solved:
        of = [_line(name(*key), every) for key, every in solved.items()]
        st.plotly_chart(
            profile.figure(
                "solving", lambda: charts.lines(of, t("progress.solving.time"), t("progress.solving.minutes"))
            ),
            config=charts.CONFIG,
            alt=t("progress.solving.alt", problems=len(of), times=sum(len(line.minutes) for line in of)),
        )
        rows = [
            (html.escape(name(*key)), i, len(one.attempts), f"{one.seconds / 60:.1f}")
            for key, every in solved.items()
            for i, one in enumerate(every, 1)
        ]
        _table(rows)
    if still_open:
        st.caption(t("progress.still_open"))
    with st.container(horizontal=True, gap="small"):
        for one in still_open:
            label = t("progress.tries", title=name(one.problem, one.mode), count=len(one.attempts))
            mode = {"mode": "debug"} if one.mode == summary.REPAIRING else {}
            links.link_to("coding_room", label, problem=one.problem, **mode)


def _line(name: str, every: list[Series]) -> Line:
    hovers = [
        t("progress.solving.hover", name=name, minutes=f"{one.seconds / 60:.1f}", attempts=len(one.attempts))
        for one in every
    ]
    return Line(name, [one.seconds / 60 for one in every], hovers)


def _table(rows: Sequence[Sequence[object]]) -> None:
    expander = st.expander(t("progress.table"), key=f"{state.PROGRESS}_solving_table", on_change="rerun")
    if expander.open:
        names = ("problem", "solving.time", "submissions", "solving.minutes")
        expander.html(table([t(f"progress.{one}") for one in names], rows))
