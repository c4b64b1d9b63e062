"""Draws the report's plots with Altair: Vega-Lite specifications, without colours, which the page sets by its theme."""

from __future__ import annotations

from typing import Any, Final

import altair as alt

from evals.html.model import DotPlot, Plot, Point, Scatter

_ROW: Final = 26
_OFFSET_ROW: Final = 11
_SCATTER_HEIGHT: Final = 320
_LABEL_WIDTH: Final = 150
_LEGEND_WIDTH: Final = 480  # pixels, of all columns together

Chart = Any  # Altair's classes name too many type variables to be of use here


def specification(plot: Plot) -> dict[str, Any]:
    """A Vega-Lite specification that holds its data and takes the width of its container."""
    return _finish(_dots(plot) if isinstance(plot, DotPlot) else _scatter(plot), plot)


def _finish(chart: Chart, plot: Plot) -> dict[str, Any]:
    described = chart.properties(width="container", title=plot.title, description=f"{plot.title}. {plot.text}")
    spec: dict[str, Any] = described.to_dict()
    spec.pop("config", None)  # that of Altair's own theme
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def _data(values: list[dict[str, Any]]) -> Chart:
    return alt.Chart(alt.InlineData(values))


def _scale(*, logarithmic: bool) -> alt.Scale:
    return alt.Scale(type="log", nice=False, padding=12) if logarithmic else alt.Scale(zero=False, padding=12)


def _series(plot: Plot) -> list[str]:
    ranges = [one.series for one in plot.ranges] if isinstance(plot, DotPlot) else []
    return list(dict.fromkeys([*ranges, *(point.series for point in plot.points)]))


def _color(plot: Plot, shown: list[str], *, legend: bool) -> alt.Color:
    """Of the whole order, so that a series has its colour although others are not in this plot."""
    columns = min(3, len(shown))
    width = _LEGEND_WIDTH // columns
    found = alt.Legend(orient="top", title=None, columns=columns, symbolOpacity=1, labelLimit=width, values=shown)
    scale = alt.Scale(domain=list(dict.fromkeys([*plot.order, *shown])))
    return alt.Color("series:N", scale=scale, legend=found if legend else None)


def _values(points: tuple[Point, ...]) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = []
    for point in points:
        value = {"place": point.place, "value": point.value, "series": point.series, "label": point.label}
        values.append(value if point.edit is None else value | {"edit": point.edit})
    return values


def _dots(plot: DotPlot) -> Chart:
    rows = list(dict.fromkeys([*(one.place for one in plot.ranges), *(str(one.place) for one in plot.points)]))
    series = _series(plot)
    height = len(rows) * (max(_OFFSET_ROW * len(series) + 8, _ROW) if plot.offset else _ROW) + 8
    axis = alt.Axis(title=plot.axis, tickCount=6, labelOverlap=True, format=plot.number_format or alt.Undefined)
    scale = _scale(logarithmic=plot.logarithmic)
    y = alt.Y("place:N", sort=rows, title=None, axis=alt.Axis(labelLimit=_LABEL_WIDTH, ticks=False, domain=False))
    color = _color(plot, series, legend=len(series) > 1 and series != rows)
    placed: dict[str, Any] = {"y": y, "color": color}
    if plot.offset:
        placed["yOffset"] = alt.YOffset("series:N", sort=series)
    layers: list[Chart] = []
    if plot.reference is not None:
        layers.append(_data([{"at": plot.reference}]).mark_rule(strokeDash=[4, 3]).encode(x="at:Q"))
    if plot.points:
        layers.append(
            _data(_values(plot.points))
            .mark_point(filled=True, size=44, opacity=0.45, cursor="pointer")
            .encode(x=alt.X("value:Q", scale=scale, axis=axis), tooltip=alt.Tooltip("label:N", title=None), **placed)
        )
    ranges = [
        {
            "place": one.place,
            "series": one.series,
            "low": one.low,
            "estimate": one.estimate,
            "high": one.high,
            "label": one.label,
        }
        for one in plot.ranges
    ]
    tooltip = alt.Tooltip("label:N", title=None)
    layers.append(
        _data(ranges)
        .mark_rule(strokeWidth=3, strokeCap="round")
        .encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", tooltip=tooltip, **placed)
    )
    layers.append(
        _data(ranges)
        .mark_point(filled=True, size=80, shape="diamond", opacity=1)
        .encode(x="estimate:Q", tooltip=tooltip, **placed)
    )
    return alt.layer(*layers).properties(height=height)


def _scatter(plot: Scatter) -> Chart:
    series = _series(plot)
    scale = _scale(logarithmic=True)
    return (
        _data(_values(plot.points))
        .mark_point(filled=True, size=44, opacity=0.6, cursor="pointer")
        .encode(
            x=alt.X("place:Q", scale=scale, axis=alt.Axis(title=plot.across, tickCount=5, labelOverlap=True)),
            y=alt.Y("value:Q", scale=scale, axis=alt.Axis(title=plot.axis, tickCount=5)),
            color=_color(plot, series, legend=len(series) > 1),
            tooltip=alt.Tooltip("label:N", title=None),
        )
        .properties(height=_SCATTER_HEIGHT)
    )
