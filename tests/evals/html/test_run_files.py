"""Whatever is wrong with a file, the error is one, names the file and says what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.html.build import build
from evals.html.run_files import RunFile, RunFileError, read_runs
from evals.identity.report import IdentityReport
from evals.quality.report import QualityReport
from evals.replay.tokenizers import NamedTokenizer

WriteRun = Callable[[dict[str, Any]], RunFile]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("\xff", "no JSON"),
        ("[]", "says no kind"),
        ('{"schema": 1}', "says no kind"),
        ('{"schema": 1, "kind": "weather"}', "latency, replay, identity, quality, and this one is 'weather'"),
        ('{"schema": 1, "kind": ["latency"]}', "this one is"),
        ('{"schema": 2, "kind": "latency"}', "schema 2, and this version reads schema 1"),
        ('{"kind": "replay"}', "schema None"),
    ],
)
def test_a_file_that_is_no_run_is_named(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "some-run.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RunFileError, match=what) as raised:
        read_runs([path])
    assert str(raised.value).startswith(str(path))


def test_a_missing_file_and_one_named_twice(tmp_path: Path, replay_file: Path) -> None:
    with pytest.raises(RunFileError, match="cannot be read"):
        read_runs([tmp_path / "nowhere.json"])
    with pytest.raises(RunFileError, match="named twice"):
        read_runs([replay_file, replay_file.parent / "." / replay_file.name])


def test_letters_count_the_runs_of_a_kind(run_paths: list[Path]) -> None:
    found = [(run.kind, run.letter) for run in read_runs(run_paths)]
    assert found == [("latency", "A"), ("latency", "B"), ("replay", "A"), ("identity", "A"), ("quality", "A")]


def test_a_run_over_corpora_names_them(
    identity_report: IdentityReport, write_run: WriteRun, tokenizer: NamedTokenizer
) -> None:
    record = identity_report.to_json()
    (note,) = build([write_run(record)], tokenizer).runs
    assert "6 edits of corpus.jsonl, more.jsonl" in note.facts
    (note,) = build([write_run(broken(record, lambda copy: copy.update(corpus={"records": 6})))], tokenizer).runs
    assert not any("edits of" in fact for fact in note.facts)


def broken(record: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(record))
    change(copy)
    return copy


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("samples"),
        lambda record: record.update(samples=[]),
        lambda record: record.update(samples=3),
        lambda record: record["samples"][0].pop("total_seconds"),
        lambda record: record["samples"][0].update(surprise=1),
        lambda record: record["samples"][0].update(total_seconds="1"),
        lambda record: record["samples"][0].update(total_seconds=0),
        lambda record: record["samples"][0].update(target_passes=None),
        lambda record: record.update(subject="none of them"),
        lambda record: record.update(environment=None),
        lambda record: record["environment"].pop("hardware"),
    ],
)
def test_a_damaged_latency_run(
    latency_record: dict[str, Any], write_run: WriteRun, tokenizer: NamedTokenizer, change: Callable[..., object]
) -> None:
    run = write_run(broken(latency_record, change))
    with pytest.raises(RunFileError, match=r"run\.json: "):
        build([run], tokenizer)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("samples"),
        lambda record: record["samples"].clear(),
        lambda record: record["samples"]["update"]["tokens"].pop(),
        lambda record: record["samples"]["update"]["runs"][1]["passes"].append(1),
        lambda record: record["samples"]["update"]["runs"][1].pop("drafted"),
        lambda record: record["samples"]["update"]["runs"][1].update(passes=["a"] * 6),
        lambda record: record["samples"]["update"]["runs"][1].update(passes=[0] * 6),
        lambda record: record["samples"]["update"]["runs"].pop(),
        lambda record: record.update(rows=[]),
        lambda record: record.update(tokenizer=None),
        lambda record: record.update(costs=[]),
        lambda record: record.update(forms=None),
        lambda record: record.update(costs=[0.0]),
    ],
)
def test_a_damaged_replay_run(
    replay_file: Path, write_run: WriteRun, tokenizer: NamedTokenizer, change: Callable[..., object]
) -> None:
    run = write_run(broken(json.loads(replay_file.read_bytes()), change))
    with pytest.raises(RunFileError, match=r"run\.json: "):
        build([run], tokenizer)


@pytest.mark.parametrize("field", ["samples", "setup", "corpus", "drafter", "complete"])
def test_damaged_identity_and_quality_runs(
    identity_report: IdentityReport,
    quality_report: QualityReport,
    write_run: WriteRun,
    tokenizer: NamedTokenizer,
    field: str,
) -> None:
    for report in (identity_report, quality_report):
        run = write_run(broken(report.to_json(), lambda record: record.pop(field)))
        with pytest.raises(RunFileError, match=rf"run\.json: .*{field}"):
            build([run], tokenizer)
