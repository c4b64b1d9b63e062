"""What the latency plots and tables share. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from evals.comparison import Row
from evals.html.resample import Array, table
from evals.samples import Sample


def order(rows: Sequence[Row]) -> tuple[str, ...]:
    """The configurations, for the colours of plots."""
    return tuple(row.configuration for row in rows)


def times(samples: Sequence[Sample]) -> Array:
    """(edits, repeats), in seconds."""
    by_edit: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        by_edit[sample.example].append(sample.measurement.total_seconds)
    return table(by_edit)
