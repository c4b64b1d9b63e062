"""What becomes of given facts; the names, against those that dashboards rely on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from drafts.core.types import DraftReport, RegionReport, SourceKind
from service.agreement import Agreement
from service.metrics import Metrics
from service.metrics.collectors import CountedHistogram
from service.metrics.labels import REASONS
from service.request_class import LabelledClass
from service.request_facts import PhaseName, Placement, RequestFacts

ROOT = Path(__file__).parents[2]
CLASS = {"class": "batch", "form": "unified_diff", "size": "large"}

NAMES = {
    "redraft_request_duration_seconds": ("histogram", {"class", "form", "size", "code"}),
    "redraft_time_to_first_text_seconds": ("histogram", {"class", "form", "size"}),
    "redraft_queue_duration_seconds": ("histogram", {"class", "form", "size"}),
    "redraft_time_per_output_token_seconds": ("histogram", {"class", "form", "size"}),
    "redraft_requests_in_flight": ("gauge", {"class", "form", "size"}),
    "redraft_queue_tokens": ("gauge", {"class", "form", "size"}),
    "redraft_align_duration_seconds": ("histogram", {"language", "outcome"}),
    "redraft_target_passes": ("counter", {"class", "form", "size"}),
    "redraft_draft_tokens": ("counter", {"class", "form", "size", "region_kind"}),
    "redraft_accepted_tokens": ("counter", {"class", "form", "size", "region_kind"}),
    "redraft_draft_length": ("histogram", {"class", "form", "size"}),
    "redraft_drafter_duration_seconds": ("histogram", {"class", "form", "size"}),
    "redraft_outcomes": ("counter", {"class", "reason"}),
    "redraft_agreement": ("counter", {"class", "form", "agreement"}),
}


def ended(report: DraftReport | None = None, *, code: str = "OK", reason: str = "OK") -> RequestFacts:
    facts = RequestFacts(labels=LabelledClass("batch", "unified_diff", "large"), language="go")
    facts.placement = Placement.PLACED
    with facts.phase(PhaseName.ALIGN):
        pass
    with facts.generating(10, 20):
        facts.output(1, 0.003)
        facts.output(3, 0.003)
    facts.text()
    facts.report = report
    facts.agreement = Agreement.MODEL_ONLY
    facts.end(code, reason)
    return facts


REPORT = DraftReport(
    target_passes=10,
    output_tokens=47,
    drafted=60,
    accepted=37,
    rejected=20,
    drafter_ns=4_000_000,
    draft_lengths={0: 3, 5: 4, 40: 1, 2000: 2},
    regions=[
        RegionReport(0, SourceKind.KEPT, drafted=30, accepted=25, rejected=5, passes=4),
        RegionReport(1, SourceKind.EDITED, drafted=10, accepted=4, rejected=6, passes=2),
        RegionReport(2, SourceKind.KEPT, drafted=15, accepted=8, rejected=4, passes=1),
        RegionReport(-1, SourceKind.OUTPUT, drafted=5, accepted=0, rejected=5, passes=1),
    ],
)


def value(metrics: Metrics, name: str, labels: Mapping[str, str]) -> float | None:
    return metrics.registry.get_sample_value(name, dict(labels))


def test_a_draft_report() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.request_ended(ended(REPORT))
    assert value(metrics, "redraft_target_passes_total", CLASS) == 20
    for kind, drafted, accepted in (("kept", 90, 66), ("edited", 20, 8), ("output", 10, 0), ("original", 0, 0)):
        labels = {**CLASS, "region_kind": kind}
        assert value(metrics, "redraft_draft_tokens_total", labels) == drafted
        assert value(metrics, "redraft_accepted_tokens_total", labels) == accepted
    assert value(metrics, "redraft_draft_tokens_total", {**CLASS, "region_kind": "unknown"}) == 0
    assert value(metrics, "redraft_draft_length_count", CLASS) == 20
    assert value(metrics, "redraft_draft_length_sum", CLASS) == 2 * (20 + 40 + 4000)
    for limit, count in (("0.0", 6), ("4.0", 6), ("8.0", 14), ("32.0", 14), ("64.0", 16), ("1024.0", 16), ("+Inf", 20)):
        assert value(metrics, "redraft_draft_length_bucket", {**CLASS, "le": limit}) == count
    assert value(metrics, "redraft_drafter_duration_seconds_sum", CLASS) == pytest.approx(0.008)
    assert (
        value(metrics, "redraft_agreement_total", {"class": "batch", "form": "unified_diff", "agreement": "model_only"})
        == 2
    )
    assert value(metrics, "redraft_align_duration_seconds_count", {"language": "go", "outcome": "placed"}) == 2
    assert value(metrics, "redraft_queue_duration_seconds_sum", CLASS) == pytest.approx(0.006)


def test_an_engine_that_does_not_say_what_it_drafted_from() -> None:
    metrics = Metrics()
    metrics.request_ended(ended(DraftReport(target_passes=4, output_tokens=10, drafted=12, accepted=6, rejected=6)))
    assert value(metrics, "redraft_draft_tokens_total", {**CLASS, "region_kind": "unknown"}) == 12
    assert value(metrics, "redraft_accepted_tokens_total", {**CLASS, "region_kind": "unknown"}) == 6


@pytest.mark.parametrize("report", [None, DraftReport()], ids=["none", "lost"])
def test_without_a_report_nothing_is_made_up(report: DraftReport | None) -> None:
    metrics = Metrics()
    metrics.request_ended(ended(report, code="CANCELLED", reason="CANCELLED"))
    assert value(metrics, "redraft_target_passes_total", CLASS) is None
    assert value(metrics, "redraft_drafter_duration_seconds_count", CLASS) is None
    assert value(metrics, "redraft_outcomes_total", {"class": "batch", "reason": "CANCELLED"}) == 1


def test_names_and_labels() -> None:
    metrics = Metrics()
    metrics.request_ended(ended(REPORT))
    found = {
        family.name: (family.type, {name for sample in family.samples for name in sample.labels} - {"le"})
        for family in metrics.registry.collect()
    }
    assert found == NAMES


def test_rare_outcomes_begin_at_zero() -> None:
    """A series that appears with its first event hides that event from every rate over it."""
    metrics = Metrics()
    for reason in REASONS:
        assert value(metrics, "redraft_outcomes_total", {"class": "interactive", "reason": reason}) == 0


def test_the_reasons_are_those_of_the_contract() -> None:
    errors = (ROOT / "proto" / "README.md").read_text().split("\n## Errors\n")[1].split("\n### ")[0]
    assert {*re.findall(r"^\| `([A-Z0-9_]+)` \|", errors, re.MULTILINE), "OK", "CANCELLED"} == set(REASONS)


@given(st.dictionaries(st.integers(0, 5000), st.integers(0, 40), max_size=20))
def test_a_counted_histogram_is_a_histogram(tally: dict[int, int]) -> None:
    limits = (0, 1, 2, 4, 512)
    registry = CollectorRegistry()
    ours = CountedHistogram("one", "text", ("label",), limits)
    registry.register(ours)
    theirs = Histogram("two", "text", ("label",), buckets=limits, registry=registry)
    ours.add(("x",), tally)
    ours.add(("x",), tally)
    child = theirs.labels("x")
    for observed, times in tally.items():
        for _ in range(2 * times):
            child.observe(observed)
    for suffix, labels in [("_count", {}), ("_sum", {}), *(("_bucket", {"le": le}) for le in ("0.0", "4.0", "+Inf"))]:
        labels = {"label": "x", **labels}
        assert registry.get_sample_value(f"one{suffix}", labels) == registry.get_sample_value(f"two{suffix}", labels)


def test_a_name_cannot_be_registered_twice() -> None:
    metrics = Metrics()
    with pytest.raises(ValueError, match="Duplicated"):
        Metrics(metrics.registry)
