"""Latency by request class: one row per configuration, load and class. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from evals.samples import Measurement, Sample
from evals.stats import Interval, quantile, quantile_interval


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Seconds, each with its 95% bootstrap interval. Of few samples the higher ones are hardly below the largest."""

    p50: Interval
    p95: Interval
    p99: Interval

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Percentiles:
        return cls(*(quantile_interval(seconds, q) for q in (0.5, 0.95, 0.99)))


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Successful calls, and how many failed. Times are the caller's, from sending (in an open loop: from arrival).

    request_class: caller class/form/size bucket (service/request_class.py). tokens_per_second: output tokens over the
    time to the last byte, median over calls. queue_seconds: what the service reports, median and 0.95-quantile.
    """

    configuration: str
    load: str
    request_class: str
    calls: int
    failed: int
    total_seconds: Percentiles
    first_text_seconds: Percentiles
    queue_seconds_p50: float
    queue_seconds_p95: float
    tokens_per_second: float
    tokens_per_pass: float
    acceptance: float | None


def by_class(samples: Sequence[Sample]) -> list[ClassRow]:
    """Classes without a successful call have no row. Configurations, loads and classes in order of first appearance."""
    groups: dict[tuple[str, str, str], list[Measurement]] = defaultdict(list)
    for sample in samples:
        groups[sample.configuration, sample.load, sample.request_class].append(sample.measurement)
    return [_row(*key, measured) for key, measured in groups.items() if any(one.ok for one in measured)]


def _row(configuration: str, load: str, request_class: str, measured: Sequence[Measurement]) -> ClassRow:
    good = [one for one in measured if one.ok]
    passes, tokens = sum(one.target_passes for one in good), sum(one.output_tokens for one in good)
    accepted = sum(one.accepted_tokens for one in good)
    verified = accepted + sum(one.rejected_tokens for one in good)
    queue = [one.queue_seconds for one in good]
    # An empty result has no text: its first is its last.
    first = [one.total_seconds if one.first_text_seconds is None else one.first_text_seconds for one in good]
    return ClassRow(
        configuration=configuration,
        load=load,
        request_class=request_class,
        calls=len(good),
        failed=len(measured) - len(good),
        total_seconds=Percentiles.of([one.total_seconds for one in good]),
        first_text_seconds=Percentiles.of(first),
        queue_seconds_p50=quantile(queue, 0.5),
        queue_seconds_p95=quantile(queue, 0.95),
        tokens_per_second=quantile([one.output_tokens / one.total_seconds for one in good], 0.5),
        tokens_per_pass=tokens / passes if passes else 0.0,
        acceptance=accepted / verified if verified else None,
    )
