"""Bootstrap intervals over edits. Pure, and repeatable by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evals.stats import Interval

RESAMPLES: Final = 2000
_CHUNK: Final = 2_000_000

Array = NDArray[np.float64]
Statistic = Callable[[Array], Any]
"""Of edits and their values on the last two axes: (..., edits, values) gives (...)."""


def table(by_edit: Mapping[str, Sequence[float]]) -> Array:
    """The repeats of every edit as one row, (edits, repeats), filled up with NaN where one has fewer."""
    width = max(map(len, by_edit.values()), default=0)
    return np.array([[*values, *([np.nan] * (width - len(values)))] for values in by_edit.values()], dtype=np.float64)


def interval(rows: Array, statistic: Statistic, *, level: float = 0.95, seed: int = 0) -> Interval:
    """A statistic and its percentile-bootstrap interval (Efron 1979), widened to hold the estimate.

    rows: (edits, values). Edits are drawn, not values: repeats of one edit say little about other edits.
    Raises ValueError for no rows.
    """
    if not len(rows):
        raise ValueError("an interval of no values")
    estimate = float(statistic(rows))
    rng = np.random.default_rng(seed)
    found: list[Array] = []
    step = max(1, _CHUNK // rows.size)
    for start in range(0, RESAMPLES, step):
        drawn = rng.integers(0, len(rows), size=(min(step, RESAMPLES - start), len(rows)))
        found.append(np.asarray(statistic(rows[drawn])))
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(found), (tail, 1 - tail))
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def quantile(q: float) -> Statistic:
    """The q-quantile of all values that are there, linear between order statistics.

    numpy's own nanquantile goes through rows one by one, which takes seconds for a page.
    """

    def statistic(rows: Array) -> Any:
        values = np.sort(rows.reshape(*rows.shape[:-2], -1), axis=-1)  # NaN last
        place = q * (np.count_nonzero(~np.isnan(values), axis=-1)[..., None] - 1)
        below = np.floor(place).astype(np.intp)
        above = np.ceil(place).astype(np.intp)
        low, high = np.take_along_axis(values, below, axis=-1), np.take_along_axis(values, above, axis=-1)
        return (low + (place - below) * (high - low))[..., 0]

    return statistic


median: Final = quantile(0.5)


def mean(rows: Array) -> Any:
    return np.nanmean(rows, axis=(-2, -1))


def ratio_of_totals(rows: Array) -> Any:
    """Rows are pairs: the sum of the first values over the sum of the second."""
    totals = rows.sum(axis=-2)
    return totals[..., 0] / totals[..., 1]
