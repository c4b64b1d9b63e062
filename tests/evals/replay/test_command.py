"""`redraft eval replay`, as a shell meets it."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evals.cli import app
from evals.example_edits import load_examples
from evals.replay.command import example_records
from evals.stepcost.profile import Cell, StepCostProfile
from service.config import EMBEDDED_MODEL_PATH

COSTS = ["0.002", "0.006", "0.02", "0.05"]


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def redraft(*arguments: str, cwd: Path) -> Done:
    """In this process: the drafters' packages take seconds to import."""
    before = Path.cwd()
    os.chdir(cwd)
    try:
        result = CliRunner().invoke(app, ["replay", *arguments], env={"NO_COLOR": "1", "TERMINAL_WIDTH": "200"})
    finally:
        os.chdir(before)
    # What is not an exit status is a bug, and would be a traceback in a shell.
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two smallest examples."""
    path = tmp_path_factory.mktemp("corpus") / "two.jsonl.gz"
    records = sorted(example_records(), key=lambda record: len(record.before))[:2]
    path.write_bytes(gzip.compress("".join(json.dumps(record.to_json()) + "\n" for record in records).encode()))
    return path


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("run")
    done = redraft(
        *("--corpus", str(corpus), "--json", "new/replay.json", "--forms", "update,diff,instruction"),
        *("--drafters", "none,ngram-16,lookup-3-10,copy-128"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "new" / "replay.json").read_text())


def test_the_report_follows_its_schema(run: tuple[str, dict[str, Any]]) -> None:
    report = run[1]
    assert (report["schema"], report["kind"], report["complete"]) == (1, "replay", True)
    assert report["costs"] == [0.002, 0.006, 0.02, 0.05]
    assert report["tokenizer"]["name"] == "embedded"
    assert len(report["corpus"]["file_sha256"]) == len(report["corpus"]["records_sha256"]) == 64
    assert report["corpus"]["records"] == 2
    assert "replay" in report["note"]
    assert {row["form"] for row in report["rows"]} == {"update", "diff", "instruction"}
    for row in report["rows"]:
        assert row["edits"] == 2
        assert row["tokens_per_pass"] == pytest.approx(row["tokens"] / row["passes"])
        assert row["drafted_per_token"] == pytest.approx(row["drafted"] / row["tokens"])
        assert list(row["modelled_speedup"]) == COSTS
        if row["kind"] != "bound":
            assert 0 < row["drafter_us_per_step"]["p50"] <= row["drafter_us_per_step"]["p99"]


def test_speedups_are_those_of_the_counts(run: tuple[str, dict[str, Any]]) -> None:
    for row in run[1]["rows"]:
        for cost in COSTS:
            counts = row["by_cost"].get(cost, row)
            expected = row["tokens"] / (counts["passes"] + float(cost) * counts["drafted"])
            assert row["modelled_speedup"][cost] == pytest.approx(expected)


def test_rows_are_the_sums_of_the_samples(run: tuple[str, dict[str, Any]]) -> None:
    report = run[1]
    rows = {(row["form"], row["drafter"]): row for row in report["rows"]}
    for form, samples in report["samples"].items():
        for sampled in samples["runs"]:
            row = rows[form, sampled["drafter"]]
            counts = row if sampled["g"] is None else row["by_cost"][f"{sampled['g']:g}"]
            for name in ("passes", "drafted", "accepted", "rejected"):
                assert sum(sampled[name]) == counts[name]
            causes = counts["passes_by_cause"]
            assert causes is None or sum(causes.values()) == counts["passes"]
            for tokens, passes, accepted in zip(samples["tokens"], sampled["passes"], sampled["accepted"], strict=True):
                assert tokens == passes + accepted


def test_ours_is_near_the_bound_and_plain_decoding_is_the_unit(run: tuple[str, dict[str, Any]]) -> None:
    rows = {(row["form"], row["drafter"]): row for row in run[1]["rows"]}
    for form in ("update", "diff"):
        ours, bound, none = (rows[form, name] for name in ("copy-128", "bound-128", "none"))
        assert none["tokens_per_pass"] == 1
        assert set(none["modelled_speedup"].values()) == {1.0}
        for cost in COSTS:
            assert bound["modelled_speedup"][cost] >= ours["modelled_speedup"][cost]
            assert ours["modelled_speedup"][cost] > 0.9 * bound["modelled_speedup"][cost]
            assert ours["modelled_speedup"][cost] > rows[form, "ngram-16"]["modelled_speedup"][cost]
    best = {(entry["form"], entry["g"]): entry for entry in run[1]["best_peers"]}
    assert best["update", 0.006]["drafter"] == "ngram-16"
    assert best["update", 0.006]["ours"]["copy-128"] > 2
    whole = rows["update", "bound"]["modelled_speedup"]["0.006"]
    assert best["update", 0.006]["perfect"] == whole / rows["update", "ngram-16"]["modelled_speedup"]["0.006"]


def test_every_table_says_that_it_is_a_replay(run: tuple[str, dict[str, Any]]) -> None:
    titles = [line for line in run[0].splitlines() if "form " in line]
    assert len(titles) == 6
    assert all(title.startswith("Replay") for title in titles)
    assert "No model ran" in run[0]


def test_a_second_run_gives_the_same_counts(run: tuple[str, dict[str, Any]], corpus: Path, tmp_path: Path) -> None:
    tokenizer = EMBEDDED_MODEL_PATH / "tokenizer.json"
    done = redraft(
        *("--corpus", str(corpus), "--json", "r.json", "--forms", "diff", "--drafters", "copy-128"),
        *("--tokenizer", str(tokenizer)),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "r.json").read_text())
    first = [sample for sample in run[1]["samples"]["diff"]["runs"] if sample["drafter"] == "copy-128"]
    assert again["samples"]["diff"]["runs"] == first
    assert again["tokenizer"]["sha256"] == run[1]["tokenizer"]["sha256"]


def test_the_ablation_takes_one_command(corpus: Path, tmp_path: Path) -> None:
    done = redraft("--corpus", str(corpus), "--forms", "update", "--ablation", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {row["drafter"]: row for row in json.loads((tmp_path / "r.json").read_text())["rows"]}
    for part in ("no-plan", "no-structure", "fixed-k", "no-cursor", "no-rewrites"):
        assert f"copy-512-{part}" in done.stdout
    assert rows["copy-128"]["passes"] < rows["copy-128-no-plan"]["passes"]
    assert rows["copy-128"]["modelled_speedup"]["0.05"] >= rows["copy-128-fixed-k"]["modelled_speedup"]["0.05"]


def test_unrelated_outputs_cost_little(tmp_path: Path) -> None:
    done = redraft(
        *("--adversarial", "--forms", "update", "--drafters", "ours", "--limit", "8", "--json", "r.json"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["corpus"]["outputs"] == "unrelated"
    assert [verdict["drafter"] for verdict in report["adversarial"]] == ["copy-128", "copy-512", "copy-4096"]
    for verdict in report["adversarial"]:
        assert verdict["holds"]
        assert verdict["ratio"] >= 0.97
        assert verdict["worst_edit"]["ratio"] >= 0.97
    assert "no more than 3% slower" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--forms", "update,telepathy"], "no form 'telepathy'"),
        (["--drafters", "copy-128,warp"], "no drafter 'warp'"),
        (["--drafters", "ngram-16-5-4"], "longer than the longest"),
        (["--drafters", "copy-0"], "above 0"),
        (["--tokenizer", "nowhere"], "no tokenizer at nowhere"),
        (["--corpus", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--limit", "-1"], "limit"),
    ],
)
def test_bad_arguments_are_said_and_exit_with_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = redraft(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr


def test_a_record_that_is_not_right_is_named(tmp_path: Path) -> None:
    records = [record.to_json() for record in example_records()[:2]]
    del records[1]["before"]
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    done = redraft("--corpus", "bad.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "bad.jsonl, line 2" in done.stderr
    assert load_examples()[1].name in done.stderr


def test_a_tokenizer_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    done = redraft("--tokenizer", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "tokenizer.json" in done.stderr


def test_a_measured_profile_stands_beside_the_model(corpus: Path, tmp_path: Path) -> None:
    """A profile that is the model itself, in seconds, gives the model's speed-up."""
    cells = [Cell(k, 512, 1, (0.01 * (1 + 0.02 * k),) * 3) for k in (0, 1, 128)]
    profile = StepCostProfile("torch", "x", {}, tuple(cells))
    (tmp_path / "profile.json").write_text(json.dumps(profile.to_json()))
    done = redraft(
        *("--corpus", str(corpus), "--json", "replay.json", "--forms", "update"),
        *("--drafters", "none,ngram-16,copy-128", "--profile", "profile.json"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = {row["drafter"]: row for row in json.loads((tmp_path / "replay.json").read_text())["rows"]}
    assert rows["none"]["profile_speedup"] == pytest.approx(1)
    for name in ("ngram-16", "copy-128"):
        assert rows[name]["profile_speedup"] == pytest.approx(rows[name]["modelled_speedup"]["0.02"], rel=0.01)
    assert rows["bound"]["profile_speedup"] is None


@pytest.mark.parametrize("content", ["{}", "[", '{"schema": 1, "kind": "stepcost", "engine": "x"}'])
def test_no_profile(corpus: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "profile.json").write_text(content)
    done = redraft("--corpus", str(corpus), "--profile", "profile.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "no step-cost profile" in done.stderr
