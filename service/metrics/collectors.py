"""Two collectors that prometheus_client has no instrument for: observations by the thousand, and gauges of what is."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector


class CountedHistogram(Collector):
    """A histogram of whole numbers that takes a whole tally at once: a request may have thousands of passes."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], buckets: Sequence[int]) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        self._buckets = tuple(buckets)
        self._lock = threading.Lock()
        # By label values: the count of each bucket (not cumulative; the last one is +Inf), and the sum.
        self._counts: dict[tuple[str, ...], tuple[list[int], int]] = {}

    def add(self, values: tuple[str, ...], tally: Mapping[int, int]) -> None:
        """tally: value -> how many times it was observed."""
        with self._lock:
            counts, total = self._counts.get(values, ([0] * (len(self._buckets) + 1), 0))
            for value, times in tally.items():
                counts[bisect.bisect_left(self._buckets, value)] += times
                total += value * times
            self._counts[values] = (counts, total)

    def describe(self) -> Iterator[HistogramMetricFamily]:
        yield HistogramMetricFamily(self._name, self._documentation, labels=self._labels)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        with self._lock:
            snapshot = [(values, list(counts), total) for values, (counts, total) in self._counts.items()]
        for values, counts, total in snapshot:
            cumulative, buckets = 0, []
            for limit, count in zip((*map(float, self._buckets), "+Inf"), counts, strict=True):
                cumulative += count
                buckets.append((str(limit), cumulative))
            family.add_metric(values, buckets, sum_value=total)
        yield family


class LiveGauge(Collector):
    """A gauge that is computed when it is read, so that no increment can miss its decrement."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        read: Callable[[], Mapping[tuple[str, ...], float]],
    ) -> None:
        self._name, self._documentation, self._labels, self._read = name, documentation, tuple(labels), read

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(self._name, self._documentation, labels=self._labels)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(self._name, self._documentation, labels=self._labels)
        for values, value in self._read().items():
            family.add_metric(values, value)
        yield family
