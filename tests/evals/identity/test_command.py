"""The command's own parts: arguments, and going on with a report. test_measure.py and test_engine.py run the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evals.cli import app
from evals.corpus.records import EditRecord, digest, write_records
from evals.identity import command
from evals.identity.measure import Plan
from evals.identity.report import IdentityReport
from evals.identity.samples import IdentitySample
from service.config import Settings

BEFORE = "".join(f"value_{n} = {n}\n" for n in range(20))
RECORDS = [EditRecord(f"id{n}", "r", "c", "a.py", "python", "MIT", "", BEFORE, BEFORE + f"x = {n}\n") for n in range(3)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "c.jsonl"
    write_records(path, RECORDS)
    return path


def invoke(corpus: Path, out: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(app, ["identity", "--corpus", str(corpus), "--json", str(out), *arguments])
    return done.exit_code, done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--forms", "poem"), "there is no form 'poem'"),
        (("--concurrency", "one"), "--concurrency one: write numbers"),
        (("--concurrency", "0"), "--concurrency 0: there is at least one"),
        (("--concurrency", "99"), "99 requests in flight, but the engine runs 16 at a time"),
        (("--set", "drafting.enabled=false"), "the drafter is off"),
        (("--set", "drafting.kind=x"), "drafting"),
        (("--languages", "cobol"), "none of the 3 records is chosen"),
    ],
)
def test_bad_arguments(corpus: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    code, output = invoke(corpus, tmp_path / "out.json", *arguments)
    assert (code, message in output) == (2, True), output
    assert not (tmp_path / "out.json").exists()


def sample(record: EditRecord, concurrency: int, *, identical: bool = True) -> IdentitySample:
    return IdentitySample(
        record.id, "update", record.language, digest(record.before, record.after), concurrency, "OK", 9, 3, 7,
        None, identical, True,
    )  # fmt: skip


def begun(path: Path, *, concurrency: tuple[int, ...] = (1, 8), setup: dict[str, Any] | None = None) -> None:
    report = command._begin(path, Settings.load(), 0)
    report.setup |= setup or {}
    report.add("update", [sample(record, c) for record in RECORDS for c in concurrency], {})
    path.write_text(json.dumps(report.to_json()))


def test_what_is_done_is_not_decoded_again(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    begun(out)
    code, output = invoke(corpus, out)  # no engine is started: nothing is left to do
    assert code == 0, output
    assert "100% (43.9 to 100)" in output
    assert f"The report is in {out}." in output
    assert f"Next: redraft eval quality --corpus {corpus}" in output
    record = json.loads(out.read_text())
    assert (record["schema"], record["complete"]) == (1, True)
    assert [(row["form"], row["drafter"], row["concurrency"]) for row in record["rows"]] == [
        ("update", "copy", 1),
        ("update", "copy", 8),
    ]
    for row in record["rows"]:
        assert (row["edits"], row["identical_rate"], row["control_rate"], row["differences"]) == (3, 1, 1, [])


def test_edits_are_drawn_across_corpora(corpus: Path, tmp_path: Path) -> None:
    out, more = tmp_path / "out.json", tmp_path / "more.jsonl"
    begun(out)
    long = EditRecord("long", "r", "c", "b.py", "python", "MIT", "", BEFORE * 2, BEFORE)
    write_records(more, [long, RECORDS[0]])
    code, output = invoke(corpus, out, "--corpus", str(more), "--max-lines", "20", "--max-edits", "7")
    assert code == 0, output
    assert f"Next: redraft eval quality --corpus {corpus} --corpus {more} " in output
    record = json.loads(out.read_text())["corpus"]
    assert [file["file"] for file in record["files"]] == ["c.jsonl", "more.jsonl"]
    assert (record["records"], record["chosen"], record["selection"]["max_edits"]) == (4, 3, 7)


def test_only_what_is_left_is_decoded(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    begun(out, concurrency=(1,))
    report = command._begin(out, Settings.load(), 0)
    changed = [*RECORDS[:2], EditRecord(**{**_fields(RECORDS[2]), "after": "another\n"})]

    def left(*concurrency: int) -> list[str]:
        return [case.record.id for case in command._todo(report, changed, ("update",), Plan(concurrency), 0)["update"]]

    assert left(1) == ["id2"]
    assert left(1, 8) == ["id0", "id1", "id2"]


def _fields(record: EditRecord) -> dict[str, str]:
    return {name: value for name, value in record.to_json().items() if name != "sha256"}


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is there already"), ("{}", "it is no identity report of schema 1"), ("[]", "it is no identity report")],
)
def test_another_file_is_not_written_over(corpus: Path, tmp_path: Path, content: str, message: str) -> None:
    out = tmp_path / "out.json"
    out.write_text(content)
    code, output = invoke(corpus, out)
    assert (code, message in output) == (2, True), output
    assert out.read_text() == content


def test_a_run_of_another_setup_is_not_gone_on_with(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    begun(out, setup={"weights_sha256": "of another model"})
    code, output = invoke(corpus, out)
    assert code == 2
    assert "holds a run of another setup (weights_sha256 differ)" in output


def test_a_difference_is_in_the_rate_and_the_exit_status(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    begun(out)
    record = json.loads(out.read_text())
    side = {"token": 5, "text": "x", "margin": 0.001, "likeliest": [5, 6]}
    record["samples"][0]["difference"] = {
        "position": 17, "plain": side, "drafted": side | {"token": None}, "pass_width": 33,
        "plain_status": "OK", "drafted_status": "RESULT_TRUNCATED",
    }  # fmt: skip
    out.write_text(json.dumps(record))
    code, output = invoke(corpus, out)
    assert code == 1
    assert "token 17 is 5 'x' without drafting and the end with" in output
    (row,) = [row for row in json.loads(out.read_text())["rows"] if row["concurrency"] == 1]
    assert row["identical_rate"] == pytest.approx(2 / 3)
    assert row["differences"][0]["pass_width"] == 33
    assert IdentityReport.from_json(json.loads(out.read_text())).rows[0].identical.count == 2
