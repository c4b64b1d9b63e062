from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from evals.environment import describe
from evals.report import LatencyReport, show
from evals.samples import Measurement, Sample


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> LatencyReport:
    samples = []
    for process, (name, seconds) in enumerate([("copy", 1.0), ("plain", 6.0), ("ngram-5", 2.0), ("ngram-16", 1.5)]):
        for example in ("a", "b"):
            drafted = 0 if name == "plain" else 100
            measured = Measurement(
                "OK", seconds, seconds / 4, "digest", 10, 100, 10, drafted, drafted // 2, drafted // 2
            )
            samples.append(Sample(name, example, 0, process, measured))
    return LatencyReport("copy", "plain", describe(tmp_path_factory.mktemp("model")), tuple(samples))


def test_json_comes_back_as_the_same_report(report: LatencyReport) -> None:
    record = json.loads(json.dumps(report.to_json()))
    assert record["schema"] == 1
    assert [row["configuration"] for row in record["rows"]] == ["copy", "plain", "ngram-5", "ngram-16"]
    assert record["rows"][0]["total_seconds"]["p95"]["estimate"] == 1.0
    first = record["comparisons"][0]
    assert (first["load"], first["configuration"]) == ("closed-1", "copy")
    assert len(record["samples"]) == 8
    assert {"total_seconds", "process", "repeat", "target_passes"} <= record["samples"][0].keys()
    assert LatencyReport.from_json(record) == report


def test_a_report_that_was_cut_short_can_be_kept(report: LatencyReport) -> None:
    short = replace(report, samples=tuple(s for s in report.samples if s.configuration == "copy"))
    assert [(row.configuration, row.identical_rate) for row in short.rows] == [("copy", 1.0)]
    assert LatencyReport.from_json(json.loads(json.dumps(short.to_json()))) == short


@pytest.mark.parametrize("change", [{"schema": 2}, {"kind": "identity"}])
def test_another_schema_is_refused(report: LatencyReport, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no latency report of schema 1"):
        LatencyReport.from_json(report.to_json() | change)


def test_a_sample_with_an_unknown_field_is_refused(report: LatencyReport) -> None:
    with pytest.raises(TypeError):
        Sample.from_json(report.samples[0].to_json() | {"surprise": 1})


def screen(report: LatencyReport, width: int = 80) -> str:
    out = io.StringIO()
    show(report, Console(file=out, width=width, no_color=True))
    return out.getvalue()


def test_the_table_fits_80_columns_and_shows_every_row(report: LatencyReport) -> None:
    lines = screen(report).splitlines()
    assert max(map(len, lines)) <= 80
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("copy", "plain", "ngram"))}
    assert rows["copy"] == ["2", "1.000", "1.000", "0.250", "100", "10.0", "50%", "100%", "-"]
    assert rows["plain"] == ["2", "6.000", "6.000", "1.500", "17", "10.0", "-", "100%", "6.00"]
    assert rows["ngram-16"][-1] == "1.50"


def test_long_names_and_times_fit_too(report: LatencyReport) -> None:
    slow = [
        replace(
            sample,
            configuration=sample.configuration.replace("ngram-16", "ngram-128-compiled"),
            measurement=replace(sample.measurement, total_seconds=123.456, first_text_seconds=12.345),
        )
        for sample in report.samples
    ]
    assert "…" not in screen(replace(report, samples=tuple(slow)))


def test_the_notes_name_the_best_rivals(report: LatencyReport) -> None:
    text = screen(report, width=400)
    assert "Against the best n-gram drafting (ngram-16): 1.50 times as fast" in text
    assert "Against the best plain decoding (plain): 6.00 times as fast" in text
    assert "Refused" not in text


def test_refused_results_are_said(report: LatencyReport) -> None:
    first = report.samples[0]
    refused = replace(first, measurement=Measurement("FAILED_PRECONDITION", 1.0, None, "digest"))
    assert "counted in identical: copy 1." in screen(replace(report, samples=(refused, *report.samples[1:])), width=400)


def test_the_environment_names_versions_and_hardware(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    found = describe(tmp_path)
    assert found["packages"]["redraft"] == "0.1.0"
    assert found["hardware"]["cores"] >= 1
    assert found["hardware"]["memory_bytes"] > 2**20
    assert len(found["model"]["weights_sha256"]) == 64
