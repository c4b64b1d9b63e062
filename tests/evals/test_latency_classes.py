from __future__ import annotations

import pytest

from evals.latency_classes import by_class
from evals.samples import Measurement, Sample


def sample(
    seconds: float, *, of: str = "interactive/update_snippet/small", status: str = "OK", load: str = "closed-1"
) -> Sample:
    measured = Measurement(
        status=status,
        total_seconds=seconds,
        first_text_seconds=seconds / 4,
        output_sha256="x",
        output_tokens=100,
        target_passes=10,
        drafted_tokens=100,
        accepted_tokens=90,
        rejected_tokens=5,
        queue_seconds=seconds / 100,
    )
    return Sample("copy", "a", 0, 0, measured, load, of)


def test_percentiles_of_a_class() -> None:
    (row,) = by_class([sample(float(i)) for i in range(1, 102)])
    assert (row.calls, row.failed) == (101, 0)
    total = row.total_seconds
    assert (total.p50.estimate, total.p95.estimate, total.p99.estimate) == (51, 96, 100)
    assert total.p50.low < 51 < total.p50.high
    assert row.first_text_seconds.p50.estimate == 51 / 4
    assert row.queue_seconds_p95 == pytest.approx(0.96)
    assert row.tokens_per_second == pytest.approx(100 / 51)
    assert row.tokens_per_pass == 10
    assert row.acceptance == pytest.approx(90 / 95)


def test_classes_and_loads_are_kept_apart_and_failures_counted() -> None:
    rows = by_class(
        [
            sample(1.0),
            sample(9.0, of="interactive/update_snippet/large"),
            sample(3.0, load="open-2"),
            sample(50.0, status="FAILED_PRECONDITION"),
            sample(1.0, of="interactive/instruction/small", status="FAILED_PRECONDITION"),
        ]
    )
    assert [(row.request_class.split("/")[-1], row.load, row.calls, row.failed) for row in rows] == [
        ("small", "closed-1", 1, 1),
        ("large", "closed-1", 1, 0),
        ("small", "open-2", 1, 0),
    ]
    assert rows[0].total_seconds.p99.estimate == 1.0
