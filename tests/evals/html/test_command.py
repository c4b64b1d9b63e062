from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.cli import app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.json"], "missing.json: it cannot be read"),
        (["RUN", "--corpus", "missing.jsonl"], "missing.jsonl"),
        (["RUN", "--tokenizer", "missing"], "there is no tokenizer at missing"),
        (["RUN", "--html", "/dev/null/page.html"], "/dev/null"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(
    tmp_path: Path, replay_file: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [str(replay_file) if argument == "RUN" else argument for argument in arguments]
    if "--html" not in given:
        given += ["--html", "page.html"]
    done = CliRunner().invoke(app, ["report", *given])
    assert done.exit_code == 2, done.output
    assert said in done.stderr.replace("\n", "")
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named(tmp_path: Path, replay_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "evals.html.render", raising=False)
    monkeypatch.setitem(sys.modules, "altair", None)
    for name in ("plots", "strip_plot"):
        monkeypatch.delitem(sys.modules, f"evals.html.{name}", raising=False)
    done = CliRunner().invoke(app, ["report", str(replay_file), "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 2, done.output
    assert "redraft[report]" in done.stderr
    assert not (tmp_path / "page.html").exists()
