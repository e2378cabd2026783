"""Days: how it stands today, what comes back on which, what was done on which."""

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from pages._ui import links, state
from pages._ui.i18n import t
from pages._ui.progress import charts, known
from pages._ui.progress.charts import RIGHT, WRONG, Bars
from pages._ui.progress.profile import Profile
from pages._ui.text import table


def today(profile: Profile) -> None:
    """How it stands, in four numbers, and the way to what is due."""
    due, row = profile.due(datetime.now(UTC)), profile.streak
    figures = [
        ("due", due, {}),
        ("known", known.share(profile.topics), {}),
        ("streak", row.days, {"longest": row.longest}),
        ("answers", len(profile.history.answers), {"right": f"{profile.right:.0%}"}),
    ]
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        for name, value, params in figures:
            st.metric(t(f"progress.now.{name}"), value, help=t(f"progress.now.{name}.help", **params), width=140)
        if due:
            links.button_to("quiz", t("progress.review", count=due), practice="review")


def ahead(profile: Profile) -> None:
    """The reviews of the next 30 days."""
    coming = profile.ahead
    st.subheader(t("progress.ahead"), anchor=False)
    first = t("progress.ahead.today", count=coming[0].reviews) if coming[0].reviews else ""
    bars = Bars(t("progress.reviews"), [day.reviews for day in coming], RIGHT)
    st.plotly_chart(
        profile.figure("ahead", lambda: charts.days([day.day for day in coming], [bars], t("progress.d3_date"), first)),
        config=charts.CONFIG,
        alt=t("progress.ahead.alt", today=coming[0].reviews, all=sum(day.reviews for day in coming)),
    )
    _table("ahead", (t("progress.reviews"),), [(day.day, day.reviews) for day in coming if day.reviews])


def done(profile: Profile) -> None:
    """The answers of the last 30 days."""
    given = profile.done
    st.subheader(t("progress.done"), anchor=False)
    parts = [
        Bars(t("progress.right"), [day.right for day in given], RIGHT),
        Bars(t("progress.wrong"), [day.answers - day.right for day in given], WRONG, hatched=True),
    ]
    st.plotly_chart(
        profile.figure("done", lambda: charts.days([day.day for day in given], parts, t("progress.d3_date"))),
        config=charts.CONFIG,
        alt=t("progress.done.alt", all=sum(day.answers for day in given), right=sum(day.right for day in given)),
    )
    rows = [(day.day, day.answers, day.right) for day in reversed(given) if day.answers]
    _table("done", (t("progress.answers"), t("progress.right")), rows)


def _table(name: str, head: tuple[str, ...], rows: Sequence[Sequence[object]]) -> None:
    """The same numbers for screen readers and keyboards. Sent only when opened."""
    expander = st.expander(t("progress.table"), key=f"{state.PROGRESS}_{name}_table", on_change="rerun")
    if expander.open:
        expander.html(table((t("progress.day"), *head), rows))
