"""The alignment's evaluation: what it counts, and what it calls a miss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from drafts.align import UpdateSnippet, plan_edit
from evals.alignment import Case, cases_of, cause_of, cost_of, measure, synthetic_file
from evals.cli import app
from evals.corpus.records import EditRecord, write_records

BEFORE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


def record(name: str, before: str, after: str) -> EditRecord:
    return EditRecord(name, "a/b", "0" * 40, "a.py", "python", "MIT", "", before, after)


def test_every_form_of_an_edit_is_a_case_and_what_a_form_cannot_say_is_counted() -> None:
    edit = record("added", BEFORE, BEFORE.replace("return 2", "return 3"))
    deletion = record("deleted", BEFORE, BEFORE.replace("    return 2\n", ""))
    cases = list(cases_of([edit, deletion]))
    assert len(cases) == 10
    report = measure(cases, sizes=())
    assert report.unsayable == {"snippet, 0 lines": 1}
    assert {outcome.name for outcome in report.outcomes} == {"added", "deleted"}
    assert all(outcome.right and not outcome.cause for outcome in report.outcomes if outcome.form == "unified diff")


@pytest.mark.parametrize(
    ("predicted", "cause"),
    [
        (BEFORE, "not placed"),
        (BEFORE.replace("return 2", "return 3") + "\n", "blank lines only"),
        ("def two():\n    return 3\n\n\ndef one():\n    return 1\n", "another place, the same lines"),
        ("def two():\n    return 3\n", "deleted what stays"),
        (BEFORE + "    return 3\n", "kept what goes"),
        (BEFORE.replace("return 2", "return 4"), "another change"),
    ],
)
def test_causes_of_misses(predicted: str, cause: str) -> None:
    case = Case("a", "python", "x", BEFORE, UpdateSnippet(""), BEFORE.replace("return 2", "return 3"))
    plan = plan_edit(predicted, UpdateSnippet(""))
    assert plan.predicted == predicted
    assert cause_of(case, plan) == cause


def test_the_file_that_costs_are_measured_on_has_the_size_it_says() -> None:
    assert synthetic_file(300).count("\n") == 300
    cost = cost_of(120)
    assert cost.lines == 120
    assert cost.plan_ms > cost.parse_ms > 0


def test_the_command_writes_its_report(tmp_path: Path) -> None:
    write_records(tmp_path / "edits.jsonl.gz", [record("a", BEFORE, BEFORE.replace("return 2", "return 3"))])
    out = tmp_path / "out" / "align.json"
    arguments = ["align", "--corpus", str(tmp_path / "edits.jsonl.gz"), "--json", str(out), "--no-cost"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "python" in result.output
    document = json.loads(out.read_text())
    assert document["schema"] == 1
    assert len(document["outcomes"]) == 5
    assert CliRunner().invoke(app, ["align", "--corpus", str(tmp_path / "none.jsonl")]).exit_code == 2


def test_the_examples_are_the_default() -> None:
    result = CliRunner().invoke(app, ["align", "--no-cost"])
    assert result.exit_code == 0
    assert "as written" in result.output
