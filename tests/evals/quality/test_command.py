"""`redraft eval quality` through a real gRPC service in which only the model is missing: it answers what aligning the
edit with the file predicts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from typer.testing import CliRunner

from evals.cli import app
from evals.corpus.cases import Case
from evals.corpus.records import EditRecord, write_records
from evals.quality import command
from evals.quality.measure import Job, measure
from evals.quality.report import QualityReport
from evals.quality.samples import QualitySample
from evals.replay.forms import form_edit
from service.agreement import Agreement
from service.client import Client, UpdateSnippet
from service.launch import open_channel
from service.servicer import SERVICE_NAME

SERVICE = Path(__file__).parents[2] / "service" / "scripted_service.py"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("service") / "address"
    process = subprocess.Popen([sys.executable, str(SERVICE), str(file), "0", "0"], stdin=subprocess.PIPE)
    try:
        while not file.exists():
            assert process.poll() is None
            time.sleep(0.05)
        found = file.read_text()
        with open_channel(found) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            request = health_pb2.HealthCheckRequest(service=SERVICE_NAME)
            while not _serving(stub, request):
                assert process.poll() is None
                time.sleep(0.05)
        yield found
    finally:
        process.terminate()
        process.wait(60)
        if process.stdin is not None:
            process.stdin.close()


def _serving(stub: health_pb2_grpc.HealthStub, request: health_pb2.HealthCheckRequest) -> bool:
    try:
        return bool(stub.Check(request, timeout=5).status == health_pb2.HealthCheckResponse.SERVING)
    except grpc.RpcError:
        return False


def record(name: str, language: str = "python", newline: str = "\n") -> EditRecord:
    before = "".join(f"{name}_{n} = {n}\n" for n in range(30)).replace("\n", newline)
    after = before.replace("_14 = 14", "_14 = 44")
    return EditRecord(name, "r", "c", f"{name}.py", language, "MIT", "Change it", before, after)


RECORDS = [record("one"), record("two", "ruby"), record("three", newline="\r\n")]


def applied(address: str, *jobs: Job) -> dict[str, QualitySample]:
    with Client(address) as client:
        return {sample.id: sample for sample in measure(jobs, client, concurrency=2)}


def job(record: EditRecord, **edit: UpdateSnippet) -> Job:
    found = form_edit(record, "update", 0)
    assert found is not None
    return Job(Case(record, "update", edit.get("edit", found)))


def test_right_results_wrong_ones_and_refused_ones(address: str) -> None:
    # What the service's alignment makes of this snippet is well-formed, and not what the author made.
    wrong = "# ... existing code ...\none_13 = 13\none_14 = 55\none_15 = 15\n# ... existing code ...\n"
    refused = replace(record("refused"), before="\ufeff", after="x = 1\n")
    samples = applied(
        address,
        *map(job, RECORDS),
        job(replace(RECORDS[0], id="wrong"), edit=UpdateSnippet(wrong)),
        job(refused, edit=UpdateSnippet("x = 1\n")),
    )
    for name in ("one", "two", "three"):
        score = samples[name].score
        assert samples[name].status == "OK"
        assert samples[name].output_tokens > 0
        assert (score.byte_exact, score.hunks_applied, score.untouched_lines_changed) == (True, 1, 0)
        assert samples[name].difference == ""
        assert samples[name].agreement is Agreement.MODEL_AND_PLAN
    assert samples["wrong"].status == "OK"
    assert (samples["wrong"].score.byte_exact, samples["wrong"].score.hunks_applied) == (False, 0)
    assert "one_14 = 55" in samples["wrong"].difference
    assert samples["wrong"].agreement is Agreement.MODEL_AND_PLAN  # this model never writes another text
    assert samples["refused"].status == "EMPTY"
    assert samples["refused"].agreement is None
    assert not samples["refused"].score.byte_exact


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["quality", *arguments])


def test_the_command_goes_on_where_it_stopped(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, out = tmp_path / "c.jsonl.gz", tmp_path / "new" / "quality.json"
    write_records(corpus, RECORDS)
    arguments = (
        "--corpus",
        str(corpus),
        "--json",
        str(out),
        "--address",
        address,
        "--forms",
        "update,diff,search-replace",
    )

    def interrupted(*args: Any, **options: Any) -> Iterator[QualitySample]:
        for count, sample in enumerate(measure(*args, **options)):
            if count == 3:
                raise KeyboardInterrupt
            yield sample

    with monkeypatch.context() as patch:
        patch.setattr(command, "measure", interrupted)
        stopped = invoke(*arguments)
    assert stopped.exit_code == 130
    assert "Interrupted: the same command goes on" in stopped.output
    part = json.loads(out.read_text())
    assert (part["complete"], len(part["samples"])) == (False, 3)
    part["samples"][0]["target_passes"] = 987_654  # what is there is not applied again
    out.write_text(json.dumps(part))

    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    assert f"The report is in {out}." in done.output
    assert f"Next: redraft eval identity --corpus {corpus}" in done.output
    whole = json.loads(out.read_text())
    assert whole["schema"] == 1
    assert whole["samples"][0]["target_passes"] == 987_654
    rows = {row["form"]: row for row in whole["rows"]}
    assert rows["update"]["edits"] == rows["diff"]["edits"] == 3
    assert rows["update"]["byte_exact"] == 1
    assert rows["update"]["exact_but_blank_lines"] == 1
    assert rows["update"]["untouched_lines_changed"] == 0
    assert rows["update"]["agreement"]["MODEL_AND_PLAN"] == {"edits": 3, "byte_exact": 3, "interval": [ANY, 1]}
    assert [part["edits"] for part in rows["update"]["by_size"] if part["lines"] == [0, 50]] == [3]
    assert rows["update"]["hunks"] == {"applied": 3, "missed": 0, "applied_rate": 1}
    for form in ("update", "search-replace"):  # whether they are placed or refused is the service's affair
        no_op = rows[form]["no_op"]
        assert no_op["edits"] == 3
        assert round(3 * no_op["same_bytes_rate"]) == 3 - no_op["refused"] - no_op["changed"]
    assert rows["diff"]["no_op"]["edits"] == 0
    assert set(rows["update"]["by_language"]) == {"python", "ruby"}
    assert rows["update"]["by_language"]["python"]["edits"] == 2
    assert QualityReport.from_json(whole).to_json() == whole

    other = invoke(*arguments, "--seed", "1")
    assert other.exit_code == 2
    assert "holds a run of another setup (seed differ)" in other.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--forms", "poem"), "there is no form 'poem'"),
        (("--languages", "cobol"), "none of the 3 records is chosen; they are in python, ruby"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    corpus = tmp_path / "c.jsonl"
    write_records(corpus, RECORDS)
    done = invoke("--corpus", str(corpus), "--json", str(tmp_path / "q.json"), *arguments)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")


def test_a_corrupted_corpus_names_the_record_and_nothing_runs(tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    write_records(corpus, RECORDS)
    corpus.write_text(corpus.read_text().replace("two_14 = 44", "two_14 = 45"))
    for name in ("quality", "identity"):
        done = CliRunner().invoke(app, [name, "--corpus", str(corpus), "--json", str(tmp_path / "out.json")])
        assert done.exit_code == 2
        assert 'line 2 (record "two"): its texts do not have the SHA-256' in done.output.replace("\n", " ")
    assert not (tmp_path / "out.json").exists()


def test_a_service_that_is_not_there(tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    write_records(corpus, RECORDS)
    done = invoke("--corpus", str(corpus), "--json", str(tmp_path / "q.json"), "--address", "127.0.0.1:1")
    assert done.exit_code == 3


def test_a_run_of_another_policy_is_another_run(tmp_path: Path) -> None:
    """Nothing to apply, so that no service starts: a bare deletion cannot be said without a line around it."""
    corpus, out = tmp_path / "c.jsonl", tmp_path / "q.json"
    write_records(corpus, [replace(RECORDS[0], after=RECORDS[0].before.replace("one_14 = 14\n", ""))])
    arguments = ("--corpus", str(corpus), "--json", str(out), "--forms", "update-0", "--no-ops", "0")
    assert invoke(*arguments).exit_code == 0
    assert invoke(*arguments, "--set", "agreement.policy=model").exit_code == 0
    other = invoke(*arguments, "--set", "agreement.policy=plan")
    assert other.exit_code == 2
    assert "holds a run of another setup (settings differ)" in other.output.replace("\n", " ")
