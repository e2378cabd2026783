"""The figures of the progress page. Colours come from the theme, or stand out on light and dark alike."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import plotly.graph_objects as go

RIGHT, WRONG = "#4c6ef5", "#f08c00"
_HATCHED = {"shape": "/", "solidity": 0.35}
_ROW = 25  # CSS pixels of a row of a heat map
CONFIG = {"displayModeBar": False}


class Cell(NamedTuple):
    """One cell of a heat map. `known` is 0 … 1, or None where there is nothing to know; `text` stands in the cell."""

    known: float | None
    text: str
    hover: str


EMPTY = Cell(None, "", "")


def heat_map(rows: Sequence[Sequence[Cell]], row_names: Sequence[str], column_names: Sequence[str]) -> go.Figure:
    """Rows from the top down; the columns' names above them. A click selects the cell's point: row × columns + column.

    A row without cells is a heading: its name stands over the cells below it, from the left edge on.
    """
    n_columns = max(map(len, rows))
    full = [[*row, *[EMPTY] * (n_columns - len(row))] for row in rows]
    figure = go.Figure(
        go.Heatmap(
            z=[[cell.known for cell in row] for row in full],
            text=[[cell.text for cell in row] for row in full],
            texttemplate="%{text}",
            textfont={"size": 12.5, "weight": 600},  # without a colour of its own it stands out on each cell
            zmin=0,
            zmax=1,
            xgap=2,
            ygap=2,
            showscale=False,
            hoverinfo="skip",
        )
    )
    figure.add_scatter(  # heat maps cannot be selected, so a click is taken by the nearest of these unseen points
        x=[column for _ in full for column in range(n_columns)],
        y=[row for row in range(len(full)) for _ in range(n_columns)],
        mode="markers",
        marker={"opacity": 0, "size": 1},
        text=[cell.hover for row in full for cell in row],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    headings = [i for i, row in enumerate(rows) if not row]
    figure.update_layout(
        annotations=[
            {"text": row_names[i], "x": -0.5, "y": i + 0.1, "xanchor": "left", "showarrow": False, "font": {"size": 12}}
            for i in headings
        ],
        xaxis={
            "range": [-0.5, n_columns - 0.5],
            "tickvals": list(range(len(column_names))),
            "ticktext": list(column_names),
            "side": "top",
            "visible": bool(column_names),
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "ticks": "",
        },
        yaxis={
            "range": [len(full) - 0.5, -0.5],
            "tickvals": [i for i in range(len(full)) if i not in headings],
            "ticktext": [name for i, name in enumerate(row_names) if i not in headings],
            "visible": not headings,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "fixedrange": True,
            "ticks": "",
        },
        margin={"l": 0, "r": 0, "t": 24 if column_names else 0, "b": 0},
        height=_ROW * len(full) + (24 if column_names else 0),
        hoverdistance=-1,
    )
    return figure


class Bars(NamedTuple):
    """One colour of a bar chart: its name in the legend, and a number for each place."""

    name: str
    values: Sequence[int]
    color: str
    hatched: bool = False


def days(dates: Sequence[date], parts: Sequence[Bars], date_format: str, first: str = "") -> go.Figure:
    """Bars on one another, a place a day; `date_format` as d3 has it. `first` is said beside the first bar."""
    figure = go.Figure()
    for part in parts:
        figure.add_bar(
            x=[day.isoformat() for day in dates],
            y=list(part.values),
            name=part.name,
            marker=_marker(part),
            hovertemplate=f"%{{x|{date_format}}}: %{{y}} · {part.name}<extra></extra>",
        )
    heights = [sum(values) for values in zip(*(part.values for part in parts), strict=True)]
    most = max(heights)
    if first:
        figure.add_annotation(
            text=first, x=dates[0].isoformat(), xshift=8, xanchor="left", y=heights[0], yanchor="top", showarrow=False
        )
    figure.update_layout(
        barmode="stack",
        bargap=0.15,
        height=190,
        margin={"l": 0, "r": 0, "t": 8, "b": 0},
        xaxis={"tickformat": date_format, "fixedrange": True, "showgrid": False, "nticks": 7},
        yaxis={
            "fixedrange": True,
            "range": [0, max(4, most * 1.08)],
            "tickformat": "d",
            "nticks": 5,
            "automargin": True,
        },
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        showlegend=len(parts) > 1,
    )
    return figure


def _marker(part: Bars) -> dict:
    return {"color": part.color, "pattern": _HATCHED if part.hatched else {}, "line": {"width": 0}}


def ranks(parts: Sequence[Bars], names: Sequence[str]) -> go.Figure:
    """Bars to the right, the first on top, numbered from 1 on; `names` are said when a bar is pointed at."""
    numbers = [str(i + 1) for i in range(len(names))]
    figure = go.Figure()
    for part in parts:
        figure.add_bar(
            orientation="h",
            y=numbers,
            x=list(part.values),
            name=part.name,
            marker=_marker(part),
            customdata=list(names),
            hovertemplate=f"%{{customdata}}: %{{x}} · {part.name}<extra></extra>",
        )
    figure.update_layout(
        barmode="stack",
        bargap=0.25,
        height=30 * len(names) + 70,
        margin={"l": 0, "r": 0, "t": 8, "b": 0},
        xaxis={"fixedrange": True, "tickformat": "d", "rangemode": "tozero", "nticks": 6},
        yaxis={"fixedrange": True, "type": "category", "autorange": "reversed", "ticks": "", "automargin": True},
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    )
    return figure


class Line(NamedTuple):
    """One problem: minutes until it was right, the first time, the second time …; and what is said of each."""

    name: str
    minutes: Sequence[float]
    hovers: Sequence[str]


def lines(of: Sequence[Line], times_name: str, minutes_name: str) -> go.Figure:
    """A line a problem."""
    figure = go.Figure()
    for i, line in enumerate(of):
        figure.add_scatter(
            x=list(range(1, len(line.minutes) + 1)),
            y=list(line.minutes),
            name=line.name,
            mode="lines+markers",
            marker={"size": 9, "symbol": i % 8},
            text=list(line.hovers),
            hovertemplate="%{text}<extra></extra>",
        )
    longest = max((len(line.minutes) for line in of), default=1)
    figure.update_layout(
        height=330,
        margin={"l": 0, "r": 0, "t": 8, "b": 0},
        xaxis={
            "title": {"text": times_name},
            "range": [0.7, max(longest, 3) + 0.3],
            "dtick": max(1, round(longest / 8)),
            "fixedrange": True,
            "showgrid": False,
        },
        yaxis={"title": {"text": minutes_name}, "rangemode": "tozero", "fixedrange": True, "automargin": True},
        legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0},
        showlegend=True,
    )
    return figure
