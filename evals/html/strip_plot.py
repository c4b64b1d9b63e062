"""Draws one edit's output as a strip: what the plan says, where the cursor was, k per pass."""

from __future__ import annotations

import math
from typing import Any, Final

import altair as alt

from evals.html.model import Strip

STATES: Final = ("following", "edited", "not as planned", "kept", "prefill", "lost")
_HEIGHT: Final = 150


def strip_specification(strip: Strip) -> dict[str, Any]:
    """A Vega-Lite specification that holds its data and takes the width of its container."""
    data = strip_data(strip)
    rows = alt.Axis(
        title=None,
        values=[0.5, 1.7, 2.7],
        ticks=False,
        domain=False,
        labelExpr="datum.value < 1 ? 'k per pass' : datum.value < 2 ? 'cursor' : 'plan'",
    )
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, 3]), axis=rows)
    span = alt.Scale(domain=[0, max(one.end for one in strip.passes)], nice=False)
    x = alt.X("start:Q", axis=alt.Axis(title="bytes of the file written", grid=False), scale=span)
    legend = alt.Legend(orient="top", title=None, columns=3, symbolOpacity=1)
    color = alt.Color("state:N", scale=alt.Scale(domain=list(STATES)), legend=legend)
    tooltip = alt.Tooltip("label:N", title=None)
    bars = (
        alt.Chart(alt.InlineData(data["bars"]))
        .mark_rect()
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            y2="high:Q",
            color=color,
            tooltip=tooltip,
            opacity=alt.Opacity("opacity:Q", scale=None),
        )
    )
    shape = alt.Shape("event:N", scale=alt.Scale(domain=["lost", "found"], range=["cross", "circle"]), legend=None)
    events = (
        alt.Chart(alt.InlineData(data["events"]))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, shape=shape, tooltip=tooltip)
    )
    layers = [bars, events] if data["events"] else [bars]
    spec: dict[str, Any] = alt.layer(*layers).properties(width="container", height=_HEIGHT).to_dict()
    spec.pop("config", None)
    spec["description"] = "The output of one edit, from its first byte to its last. The table of passes says the same."
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def strip_data(strip: Strip) -> dict[str, list[dict[str, Any]]]:
    """What is drawn: bars, and events on them. Heights of k are logarithmic; the accepted part is the darker one."""
    bars: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []

    def bar(start: int, end: int, low: float, high: float, state: str, label: str, opacity: float = 0.9) -> None:
        found = {"start": start, "end": end, "low": low, "high": high, "state": state, "label": label}
        bars.append(found | {"opacity": opacity})

    for region in strip.regions:
        bar(region.start, region.end, 2.4, 3.0, region.kind, f"{region.kind} {region.path}".strip())
    top = math.log1p(max((one.k for one in strip.passes), default=0) or 1)
    for number, one in enumerate(strip.passes, 1):
        label = f"pass {number}: k {one.k}, accepted {one.accepted}, {one.cause.replace('_', ' ')}"
        bar(one.start, one.end, 1.4, 2.0, one.cursor, label)
        bar(one.start, one.end, 0.0, math.log1p(one.k) / top, one.cursor, label, 0.35)
        bar(one.start, one.end, 0.0, math.log1p(one.accepted) / top, one.cursor, label)
        if one.event:
            events.append({"start": one.start, "low": 1.7, "event": one.event, "label": f"{one.event}: {label}"})
    return {"bars": bars, "events": events}
