from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.html.compare import Change, compare
from evals.html.replay import read_replay
from evals.html.run_files import RunFile
from evals.identity.report import IdentityReport
from evals.quality.report import QualityReport
from evals.report import LatencyReport


def by_measure(changes: list[Change]) -> dict[tuple[str, str], Change]:
    return {(change.what, change.measure): change for change in changes}


@pytest.fixture
def latency(latency_record: dict[str, Any]) -> LatencyReport:
    return LatencyReport.from_json(latency_record)


def slower(report: LatencyReport, configuration: str, factor: float) -> LatencyReport:
    def scaled(sample: Any) -> Any:
        seconds = sample.measurement.total_seconds * (factor if sample.configuration == configuration else 1.0)
        return replace(sample, measurement=replace(sample.measurement, total_seconds=seconds))

    return replace(report, samples=tuple(map(scaled, report.samples)))


def test_a_run_against_itself_moved_nowhere(latency: LatencyReport) -> None:
    changes = compare(latency, latency)
    assert len(changes) == 6 + 6 + 5
    assert all(change.mark == "" and change.change.estimate == 0 for change in changes)


def test_a_slower_drafter_is_worse_and_only_it(latency: LatencyReport) -> None:
    found = by_measure(compare(latency, slower(latency, "ngram-16", 1.25)))
    change = found["ngram-16", "time of an edit"]
    assert change.mark == "worse"
    assert change.change.estimate == pytest.approx(0.25)
    assert found["ngram-16", "time over copy"].mark == "better"  # for copy, which the ratio is about
    assert {what for (what, _), one in found.items() if one.mark} == {"ngram-16"}


def test_few_edits_tell_nothing(latency: LatencyReport) -> None:
    names = sorted({sample.example for sample in latency.samples if sample.measurement.ok})[:4]
    few = replace(latency, samples=tuple(sample for sample in latency.samples if sample.example in names))
    changes = compare(few, slower(few, "copy", 2.0))
    assert {(change.mark, change.verdict) for change in changes} == {("", "too few edits")}


def test_a_replay_with_more_passes_is_worse(replay_file: Path) -> None:
    record = json.loads(replay_file.read_bytes())
    before = read_replay(RunFile(replay_file, "replay", "A", record))
    after = json.loads(replay_file.read_bytes())
    for run in after["samples"]["update"]["runs"]:
        if run["drafter"] == "fixed-16":
            run["passes"] = [2 * count for count in run["passes"]]
            run["drafted"] = [2 * count for count in run["drafted"]]
    changes = compare(before, read_replay(RunFile(replay_file, "replay", "B", after)))
    found = {change.what: change for change in changes}
    assert found["fixed-16, update"].mark == "worse"
    assert found["fixed-16, update"].change.estimate == pytest.approx(1.0)
    assert found["copy-64, update"].mark == ""


def test_shares_are_compared_edit_by_edit(identity_report: IdentityReport, quality_report: QualityReport) -> None:
    whole = replace(identity_report, samples=[replace(sample, difference=None) for sample in identity_report.samples])
    (change,) = compare(identity_report, whole)
    assert (change.before, change.after) == ("83.3%", "100%")
    # One of six edits: by chance it is often not among those drawn.
    assert change.change.low == 0
    assert change.mark == ""
    wrong = replace(
        quality_report,
        samples=[replace(s, score=replace(s.score, byte_exact=False)) for s in quality_report.samples],
    )
    found = by_measure(compare(quality_report, wrong))
    assert found["update", "byte-exact"].mark == "worse"
    assert found["update", "parses"].mark == ""


def test_edits_whose_texts_changed_do_not_count(identity_report: IdentityReport) -> None:
    other = replace(identity_report, samples=[replace(s, digest="0" * 64) for s in identity_report.samples])
    assert compare(identity_report, other) == []


def test_kinds_do_not_mix(latency: LatencyReport, identity_report: IdentityReport) -> None:
    with pytest.raises(TypeError, match="two kinds"):
        compare(latency, identity_report)
