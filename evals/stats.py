"""Order statistics of small samples. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2000


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile, linear between the two nearest order statistics (numpy's default).

    Raises ValueError for no values or a q outside 0 to 1.
    """
    if not values:
        raise ValueError("a quantile of no values")
    if not 0 <= q <= 1:
        raise ValueError(f"q is {q}, must be from 0 to 1")
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """The 0.5-quantile."""
    return quantile(values, 0.5)


@dataclass(frozen=True, slots=True)
class Interval:
    """low <= estimate <= high, in the estimate's unit."""

    estimate: float
    low: float
    high: float


def median_interval(values: Sequence[float], *, level: float = 0.95, seed: int = 0) -> Interval:
    """quantile_interval of the median."""
    return quantile_interval(values, 0.5, level=level, seed=seed)


def quantile_interval(values: Sequence[float], q: float, *, level: float = 0.95, seed: int = 0) -> Interval:
    """The q-quantile and its percentile-bootstrap interval (Efron 1979), repeatable by seed.

    The interval is widened to hold the estimate, which a percentile interval of very few values may miss.
    """
    estimate = quantile(values, q)
    rng = random.Random(seed)
    resampled = [quantile(rng.choices(values, k=len(values)), q) for _ in range(RESAMPLES)]
    tail = (1 - level) / 2
    low, high = quantile(resampled, tail), quantile(resampled, 1 - tail)
    return Interval(estimate, min(low, estimate), max(high, estimate))
