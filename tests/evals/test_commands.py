"""`redraft eval` and `redraft demo`, as a shell meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.example_edits import load_examples
from evals.report import LatencyReport
from service.cli import app


def redraft(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "service.cli", *arguments]
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--example", "no_such"], "no example edit"),
        (["eval", "latency", "--configurations", "copy,warp"], "no configuration is called 'warp'"),
    ],
)
def test_bad_arguments_are_said_and_exit_with_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = redraft(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--repeats", "0"], "repeats"),
        (["eval", "latency", "--examples", "no_such"], "no example edit"),
        (["eval", "latency", "--configurations", "copy,copy"], "named twice"),
        (["eval", "latency", "--repeats", "0"], "repeats"),
        (["eval", "latency", "--address", "127.0.0.1:1", "--configurations", "copy,ngram-5"], "leave out --address"),
    ],
)
def test_other_bad_arguments(arguments: list[str], message: str) -> None:
    """In this process: starting one takes longer than the test."""
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code == 2, done.output
    assert message in done.stderr.replace("\n", " ")


def test_a_service_that_does_not_start_exits_with_3(tmp_path: Path) -> None:
    done = redraft("eval", "latency", "--model", str(tmp_path / "nothing"), "--configurations", "copy", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "did not serve" in done.stderr or "before it served" in done.stderr


@pytest.mark.engine
def test_the_demo_shows_an_identical_output_in_fewer_passes(tmp_path: Path) -> None:
    done = redraft("demo", "--repeats", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "identical: yes" in done.stdout
    figures = {line[:16].strip(): line[16:].split() for line in done.stdout.splitlines()}
    drafted, plain = figures["target passes"]
    assert int(drafted) < int(plain)
    tokens = figures["output tokens"]
    assert tokens[0] == tokens[1]
    assert "+++ b/" in done.stdout


@pytest.mark.engine
def test_the_benchmark_records_every_sample(tmp_path: Path) -> None:
    smallest = min(load_examples(), key=lambda example: len(example.original)).name
    out = tmp_path / "new" / "latency.json"
    done = redraft(
        *("eval", "latency", "--json", str(out), "--repeats", "1"),
        *("--configurations", "copy,plain,ngram-16", "--examples", smallest),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = LatencyReport.from_json(json.loads(out.read_text()))
    assert [(s.configuration, s.example, s.process) for s in report.samples] == [
        ("copy", smallest, 0),
        ("plain", smallest, 1),
        ("ngram-16", smallest, 2),
    ]
    assert {row.identical_rate for row in report.rows} == {1.0}
    by_name = {sample.configuration: sample.measurement for sample in report.samples}
    if by_name["plain"].ok:
        assert by_name["plain"].drafted_tokens == 0
        assert by_name["copy"].target_passes < by_name["plain"].target_passes
        assert by_name["ngram-16"].target_passes < by_name["plain"].target_passes
