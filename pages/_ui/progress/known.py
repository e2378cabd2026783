"""What is known: a map of topics by level, a map of pitfalls by area, and the way from each to practising it."""

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core import pitfalls
from core.progress.summary import Knowledge
from pages._ui import links, state
from pages._ui.i18n import lang, t
from pages._ui.progress import charts, ways
from pages._ui.progress.charts import EMPTY, Cell
from pages._ui.progress.profile import LEVELS, Profile
from pages._ui.text import table, write

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ACROSS = 13  # pitfalls in a row: their numbers can be read on a phone


def topics(profile: Profile) -> None:
    """Topics by level; one of them can be chosen, and practised."""
    names = {topic.id: topic.name[lang()] for topic in profile.bank.topics}
    rows = [
        [
            *(_cell(t("progress.in_level", name=names[id_], level=n), profile.levels.get((id_, n))) for n in LEVELS),
            _cell(names[id_], whole),
        ]
        for id_, whole in profile.topics.items()
    ]
    columns = [*(t("progress.level", level=level) for level in LEVELS), t("progress.level.all")]
    st.subheader(t("progress.topics"), anchor=False)
    _map(
        state.PROGRESS_TOPIC,
        profile.figure("topics", lambda: charts.heat_map(rows, [names[id_] for id_ in profile.topics], columns)),
        places([[id_] * len(columns) for id_ in profile.topics]),
        t("progress.topics.alt", known=_percent(_known(profile.topics))),
    )
    chosen = _choice(state.PROGRESS_TOPIC, t("progress.topic"), _weakest(profile.topics), names.__getitem__)
    with st.container(horizontal=True, gap="small"):
        links.link_to("quiz", t("progress.topic.practise", topic=names[chosen]), practice="learn", topic=chosen)
    _table(state.PROGRESS_TOPIC, t("progress.topic"), [(names[id_], one) for id_, one in profile.topics.items()])


def by_pitfall(profile: Profile) -> None:
    """Pitfalls by area; one of them can be chosen, with the ways to get rid of it."""
    names, ids = pitfall_rows(profile)
    rows = [[_cell(ways.title(id_), profile.pitfalls[id_]) for id_ in row] for row in ids]
    st.subheader(t("progress.pitfalls"), anchor=False)
    picture, words = st.columns([3, 2], gap="medium")
    with picture:
        _map(
            state.PROGRESS_PITFALL,
            profile.figure("pitfalls", lambda: charts.heat_map(rows, names, [])),
            places(ids),
            t("progress.pitfalls.alt", known=_percent(_known(profile.pitfalls))),
        )
    with words:
        titles = {id_: ways.title(id_) for id_ in profile.pitfalls}
        chosen = _choice(state.PROGRESS_PITFALL, t("progress.pitfall"), _weakest(profile.pitfalls), titles.__getitem__)
        st.html(f'<div class="hw-small">{_cell(titles[chosen], profile.pitfalls[chosen]).hover}</div>')
        write(f"{pitfalls.entry(chosen).why[lang()]} {pitfalls.entry(chosen).symptom[lang()]}")
        ways.show(chosen, asked=True)
        listed = [(titles[id_], one) for id_, one in profile.pitfalls.items()]
        _table(state.PROGRESS_PITFALL, t("progress.pitfall"), listed)


def pitfall_rows(profile: Profile) -> tuple[list[str], list[list[str]]]:
    """The rows of the map, names and pitfalls: for each area a heading, without pitfalls, and what it takes of rows."""
    names, rows = [], []
    for group in pitfalls.groups():
        ids = [entry.id for entry in group.entries if entry.id in profile.pitfalls]
        parts = [ids[start : start + _ACROSS] for start in range(0, len(ids), _ACROSS)]
        if parts:
            names += [group.title[lang()], *[""] * len(parts)]
            rows += [[], *parts]
    return names, rows


def share(known: dict[str, Knowledge]) -> str:
    """How much of the cards of all groups is known, as it is written."""
    return _percent(_known(known))


def _known(groups: dict[str, Knowledge]) -> float:
    return sum(one.known * one.cards for one in groups.values()) / max(1, sum(one.cards for one in groups.values()))


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _cell(name: str, one: Knowledge | None) -> Cell:
    if one is None:
        return EMPTY
    said = t("progress.cell", name=name, known=_percent(one.known), answered=one.answered, cards=one.cards)
    if one.right is not None:
        said += "<br>" + t("progress.cell.answers", answers=one.answers, right=_percent(one.right))
    return Cell(one.known, f"{100 * one.known:.0f}" if one.answered else "–", said)


def _weakest(groups: dict[str, Knowledge]) -> list[str]:
    """The groups, first those that were begun, the least known first."""
    return sorted(groups, key=lambda id_: (not groups[id_].answered, groups[id_].known))


# One of them ---------------------------------------------------------------------------------------------------------


def places(rows: Sequence[Sequence[str]]) -> list[str | None]:
    """What lies at each point of a heat map of `rows`; None where there is no cell."""
    across = max(map(len, rows))
    return [row[i] if i < len(row) else None for row in rows for i in range(across)]


def take_click(key: str, at: Sequence[str | None]) -> None:
    """Choose what was clicked. A callback."""
    points = state.get(f"{key}_map", {}).get("selection", {}).get("point_indices", [])
    if points and points[0] < len(at) and at[points[0]]:
        state.put(key, at[points[0]])


def _map(key: str, figure: "Figure", at: Sequence[str | None], alt: str) -> None:
    st.plotly_chart(
        figure,
        key=f"{key}_map",
        on_select=lambda: take_click(key, at),
        selection_mode="points",
        config=charts.CONFIG,
        alt=alt,
    )


def _choice(key: str, label: str, options: list[str], name: Callable[[str], str]) -> str:
    state.linked(key, options, options[0])
    st.selectbox(label, options, format_func=name, key=key, persist_state="session")
    state.link(key, options[0])
    return state.choice(key, options, options[0])


def _table(key: str, what: str, rows: Sequence[tuple[str, Knowledge]]) -> None:
    """The same numbers for screen readers and keyboards. Sent only when opened."""
    expander = st.expander(t("progress.table"), key=f"{key}_table", on_change="rerun")
    if expander.open:
        head = (what, t("progress.known"), t("progress.answered"), t("progress.answers"), t("progress.right"))
        cells = [
            (
                html.escape(name),
                _percent(one.known),
                f"{one.answered} / {one.cards}",
                one.answers,
                "–" if one.right is None else _percent(one.right),
            )
            for name, one in rows
        ]
        expander.html(table(head, cells))
