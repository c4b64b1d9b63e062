"""`redraft eval latency` against a running service whose speed the test sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from evals.cli import app
from evals.example_edits import load_examples
from evals.report import LatencyReport

SMALLEST = min(load_examples(), key=lambda example: len(example.original)).name


def measure(address: str, out: Path, *arguments: str) -> LatencyReport:
    """A copy run over the smallest example: the scripted engine has an answer only for what has a draft."""
    done = CliRunner().invoke(
        app,
        ["latency", "--address", address, "--json", str(out), "--configurations", "copy", "--examples", SMALLEST]
        + ["--repeats", "1", *arguments],
    )
    assert done.exit_code == 0, done.output
    return LatencyReport.from_json(json.loads(out.read_text()))


def test_a_slower_service_is_measured_as_slower(spawn: Callable[..., Any], tmp_path: Path) -> None:
    """Sleeping only ever takes longer than asked for, so the differences have a lower bound that no machine breaks."""
    delay = 0.02
    (fast,) = measure(spawn(0.0).address, tmp_path / "fast.json").samples
    (slow,) = measure(spawn(delay).address, tmp_path / "slow.json").samples
    tokens = fast.measurement.output_tokens
    assert tokens == slow.measurement.output_tokens > 100
    assert slow.measurement.total_seconds >= delay * tokens
    assert fast.measurement.total_seconds < delay * tokens
    assert slow.measurement.first_text_seconds is not None
    assert slow.measurement.first_text_seconds >= delay


def test_loads_and_a_second_run(spawn: Callable[..., Any], tmp_path: Path) -> None:
    address, out = spawn(0.0).address, tmp_path / "latency.json"
    report = measure(address, out, "--concurrency", "1,4", "--rate", "50")
    assert report.loads == ["closed-1", "closed-4", "open-50"]
    again = measure(address, out, "--concurrency", "1")
    assert len(again.samples) == len(report.samples) + 1
    assert [(sample.repeat, sample.process) for sample in again.samples] == [(0, 0)] * 3 + [(1, 1)]
    record = json.loads(out.read_text())
    assert [(row["load"], row["calls"]) for row in record["rows"]] == [("closed-1", 2), ("closed-4", 1), ("open-50", 1)]
    (request_class,) = {row["request_class"] for row in record["rows"]}
    assert request_class.split("/") == ["interactive", "update_snippet", "small"]


def test_a_file_of_another_setup_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "latency.json"
    other = {"schema": 1, "kind": "latency", "subject": "a", "reference": "b", "environment": {}, "samples": []}
    for content, says in (
        ("{}", "it is no latency report of schema 1"),
        ("[", "is there already, and"),
        ('{"schema": 1, "kind": "latency"}', "it is no whole latency report: 'samples'"),
        (json.dumps(other), "a run of another setup (packages, commit, hardware, model differ)"),
    ):
        out.write_text(content)
        arguments = ["latency", "--configurations", "copy", "--json", str(out)]
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "400"})
        assert done.exit_code == 2
        assert says in done.output
        assert out.read_text() == content


def test_what_a_running_service_does_not_offer() -> None:
    for arguments, says in (
        (["--configurations", "ngram-5"], "copy, copy-K and plain"),
        (["--concurrency", "0"], "'0' is no concurrency"),
        (["--rate", "x"], "'x' is no rate"),
        (["--concurrency", ""], "name a concurrency or a rate"),
    ):
        done = CliRunner().invoke(
            app, ["latency", "--address", "127.0.0.1:1", *(["--configurations", "copy"] + arguments)]
        )
        assert done.exit_code == 2
        assert says in " ".join(done.output.split())
