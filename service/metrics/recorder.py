"""From the facts of requests to Prometheus metrics: the one place that counts. Every request is counted once.

Names and labels are a contract with dashboards; deploy/README.md lists them. `class`, `form` and `size` together are
the request class.
"""

from __future__ import annotations

import threading
from collections import Counter as Tally
from collections.abc import Callable, Mapping
from itertools import product
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from drafts.core.types import DraftReport
from service.metrics import labels
from service.metrics.collectors import CountedHistogram, LiveGauge
from service.request_class import CALLER_CLASSES, FORMS, SIZES, UNKNOWN
from service.request_facts import PhaseName, RequestFacts

_CLASS: Final = ("class", "form", "size")

# From a small model on a large GPU to a large file on a small CPU.
_REQUEST_SECONDS: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 120, 300)
_FIRST_TEXT_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60)
_QUEUE_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_TOKEN_SECONDS: Final = (
    *(0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5),
)
_ALIGN_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_DRAFTER_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_DRAFT_LENGTHS: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """An observer of requests. registry: where the metrics are registered; one of its own unless given.

    Thread-safe: requests are observed on the event loop and read by the endpoint's thread.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry = CollectorRegistry() if registry is None else registry
        self._lock = threading.Lock()
        self._live: dict[int, RequestFacts] = {}

        def histogram(name: str, text: str, names: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, text, names, buckets=buckets, registry=registry)

        def counter(name: str, text: str, names: tuple[str, ...]) -> Counter:
            return Counter(name, text, names, registry=registry)

        self._duration = histogram(
            "redraft_request_duration_seconds",
            "From the arrival of a request to its end, by the status that it ended with.",
            (*_CLASS, "code"),
            _REQUEST_SECONDS,
        )
        self._first_text = histogram(
            "redraft_time_to_first_text_seconds",
            "From the arrival of a request to the first text of its result.",
            _CLASS,
            _FIRST_TEXT_SECONDS,
        )
        self._queue = histogram(
            "redraft_queue_duration_seconds",
            "From a request's arrival at the engine to its first pass.",
            _CLASS,
            _QUEUE_SECONDS,
        )
        self._token = histogram(
            "redraft_time_per_output_token_seconds",
            "Decoding time over tokens after the first output, one observation a request.",
            _CLASS,
            _TOKEN_SECONDS,
        )
        self._align = histogram(
            "redraft_align_duration_seconds",
            "Alignment of the edit with the file, by what came of it.",
            ("language", "outcome"),
            _ALIGN_SECONDS,
        )
        self._drafter = histogram(
            "redraft_drafter_duration_seconds",
            "Time that drafting took of a request.",
            _CLASS,
            _DRAFTER_SECONDS,
        )
        self._passes = counter("redraft_target_passes", "Passes of the target model over finished requests.", _CLASS)
        self._drafted = counter(
            "redraft_draft_tokens",
            "Draft tokens proposed, by the kind of text they were copied from.",
            (*_CLASS, "region_kind"),
        )
        self._accepted = counter(
            "redraft_accepted_tokens",
            "Draft tokens accepted, by the kind of text they were copied from.",
            (*_CLASS, "region_kind"),
        )
        self._outcomes = counter(
            "redraft_outcomes", "Requests that ended, by reason: OK, or why there was no result.", ("class", "reason")
        )
        self._agreement = counter(
            "redraft_agreement",
            "Results, by whether the model's text is the text that the plan predicted.",
            ("class", "form", "agreement"),
        )
        self._lengths = CountedHistogram(
            "redraft_draft_length", "k: draft tokens proposed for a target pass, zero included.", _CLASS, _DRAFT_LENGTHS
        )
        registry.register(self._lengths)
        registry.register(
            LiveGauge("redraft_requests_in_flight", "Requests let in that have not ended.", _CLASS, self._in_flight)
        )
        registry.register(
            LiveGauge(
                "redraft_queue_tokens",
                "Prompt tokens that the engine was given and has not answered yet.",
                _CLASS,
                self._queue_tokens,
            )
        )
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """A counter that appears with its first event hides that event from every rate: the rare ones start at 0."""
        for caller, reason in product(CALLER_CLASSES, labels.REASONS):
            self._outcomes.labels(caller, reason)
        for caller, form, agreement in product(CALLER_CLASSES, FORMS, labels.AGREEMENTS):
            self._agreement.labels(caller, form, agreement)

    # -- what happens ----------------------------------------------------------------------------------------------

    def request_started(self, facts: RequestFacts) -> None:
        with self._lock:
            self._live[id(facts)] = facts

    def request_ended(self, facts: RequestFacts) -> None:
        with self._lock:
            self._live.pop(id(facts), None)
        values = facts.labels.values
        self._outcomes.labels(facts.labels.caller, labels.reason(facts.reason)).inc()
        self._duration.labels(*values, facts.code).observe(facts.seconds)
        self._times(facts, values)
        # Where the engine's report was lost there are no passes, and nothing to count.
        if facts.report is not None and facts.report.target_passes:
            self._draft_report(facts.report, values)
        if facts.agreement is not None:
            self._agreement.labels(facts.labels.caller, facts.labels.form, facts.agreement.value).inc()

    def _times(self, facts: RequestFacts, values: tuple[str, str, str]) -> None:
        for histogram, seconds in (
            (self._first_text, facts.first_text_seconds),
            (self._queue, facts.queue_seconds),
            (self._token, facts.seconds_per_output_token),
        ):
            if seconds is not None:
                histogram.labels(*values).observe(seconds)
        if facts.placement is not None:
            for phase in facts.phases():
                if phase.name is PhaseName.ALIGN:
                    self._align.labels(labels.language(facts.language), facts.placement.value).observe(phase.seconds)

    def _draft_report(self, report: DraftReport, values: tuple[str, str, str]) -> None:
        self._passes.labels(*values).inc(report.target_passes)
        self._drafter.labels(*values).observe(report.drafter_ns / 1e9)
        self._lengths.add(values, report.draft_lengths)
        drafted: Tally[str] = Tally()
        accepted: Tally[str] = Tally()
        for region in report.regions:
            drafted[region.kind.value] += region.drafted
            accepted[region.kind.value] += region.accepted
        drafted[labels.OUTSIDE_REGIONS] = max(report.drafted - drafted.total(), 0)
        accepted[labels.OUTSIDE_REGIONS] = max(report.accepted - accepted.total(), 0)
        for kind in labels.REGION_KINDS:
            self._drafted.labels(*values, kind).inc(drafted[kind])
            self._accepted.labels(*values, kind).inc(accepted[kind])

    # -- what is, right now ----------------------------------------------------------------------------------------

    def _in_flight(self) -> Mapping[tuple[str, ...], float]:
        return self._sum(lambda facts: 1 if facts.admitted else 0)

    def _queue_tokens(self) -> Mapping[tuple[str, ...], float]:
        return self._sum(lambda facts: facts.prompt_tokens if facts.waits_for_engine else 0)

    def _sum(self, weight: Callable[[RequestFacts], int]) -> Mapping[tuple[str, ...], float]:
        totals: dict[tuple[str, ...], float] = dict.fromkeys(product(CALLER_CLASSES, FORMS, SIZES), 0.0)
        with self._lock:
            live = list(self._live.values())
        for facts in live:
            values = facts.labels.values
            amount = weight(facts)
            if amount or UNKNOWN not in values:
                totals[values] = totals.get(values, 0.0) + amount
        return totals
