"""Figures as the page writes them. Pure."""

from __future__ import annotations

from evals.html.model import Cell
from evals.stats import Interval


def seconds(value: float) -> str:
    """Three significant digits or so, with the unit."""
    if value < 0.1:
        return f"{value * 1000:.1f} ms"
    if value < 10:
        return f"{value:.2f} s"
    return f"{value:.1f} s"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def between(interval: Interval) -> str:
    """An estimate with its 95% interval."""
    return f"{ratio(interval.estimate)} ({ratio(interval.low)} to {ratio(interval.high)})"


def percent(share: float | None) -> str:
    """One decimal; only what is exactly 0 or 1 is written as 0% or 100%."""
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{share:.0%}"
    return f"{min(max(100 * share, 0.1), 99.9):.1f}%"


def signed_percent(share: float) -> str:
    return "0.0%" if round(share, 3) == 0 else f"{100 * share:+.1f}%"


def cells(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text) for text in texts)
