"""`redraft batch` against a service without a model: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.cli import app

BEFORE = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
SNIPPET = "# ... existing code ...\n\n\ndef g():\n    return 3\n"
AFTER = BEFORE.replace("return 2", "return 3")
PATCH = "@@ -6 +6 @@\n-    return 2\n+    return 3\n"

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(BEFORE)
    return tmp_path


@pytest.fixture
def batch(folder: Path, scripted_address: str) -> Run:
    def run(jobs: list[dict[str, Any]], *flags: str) -> Any:
        (folder / "jobs.jsonl").write_text("".join(f"{json.dumps(job)}\n" for job in jobs))
        arguments = ["batch", "jobs.jsonl", "--address", scripted_address, *flags]
        return CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})

    return run


GOOD = [{"file": "a.py", "update": SNIPPET}, {"file": "b.py", "patch": PATCH}]


def test_the_diff_of_all_can_be_applied(batch: Run, folder: Path) -> None:
    done = batch(GOOD)
    assert done.exit_code == 0, done.stderr
    assert "2 of 2 applied, 0 of them not as predicted; 0 failed" in done.stderr
    applied = subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=folder, check=False)
    assert applied.returncode == 0
    assert [(folder / name).read_text() for name in ("a.py", "b.py", "c.py")] == [AFTER, AFTER, BEFORE]


def test_in_place(batch: Run, folder: Path) -> None:
    done = batch(GOOD, "--in-place", "--json", "out.jsonl")
    assert (done.exit_code, done.stdout) == (0, "")
    assert [(folder / name).read_text() for name in ("a.py", "b.py", "c.py")] == [AFTER, AFTER, BEFORE]
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert sorted((one["file"], one["outcome"], one["hunks"]) for one in records) == [
        ("a.py", "OK", 1),
        ("b.py", "OK", 1),
    ]


def test_one_failure_leaves_the_others_alone(batch: Run, folder: Path) -> None:
    bad = [{"file": "c.py", "instruction": "return 3 from g"}, {"file": "none.py", "update": SNIPPET}]
    done = batch([*bad, *GOOD], "--in-place", "--json", "out.jsonl")
    assert done.exit_code == 1
    assert "2 of 4 applied, 0 of them not as predicted; 2 failed" in done.stderr
    assert [(folder / name).read_text() for name in ("a.py", "b.py", "c.py")] == [AFTER, AFTER, BEFORE]
    records = {one["file"]: one for one in map(json.loads, (folder / "out.jsonl").read_text().splitlines())}
    assert records["none.py"]["outcome"] == "UNREADABLE"
    assert records["c.py"]["outcome"] == "FORM_NOT_SUPPORTED_BY_MODEL"
    assert records["c.py"]["message"] in done.stderr


def test_many_files(batch: Run, folder: Path) -> None:
    names = [f"m{i}.py" for i in range(60)]
    for name in names:
        (folder / name).write_text(BEFORE)
    done = batch([{"file": name, "update": SNIPPET} for name in names], "--in-place")
    assert done.exit_code == 0
    assert {(folder / name).read_text() for name in names} == {AFTER}


@pytest.mark.parametrize(
    ("content", "says"), [("hunter2\n", "line 1: not JSON"), ("", "no job"), (None, "No such file")]
)
def test_bad_jobs(folder: Path, content: str | None, says: str) -> None:
    if content is not None:
        (folder / "jobs.jsonl").write_text(content)
    done = CliRunner().invoke(app, ["batch", "jobs.jsonl", "--address", "127.0.0.1:1"])
    assert done.exit_code == 2
    assert says in done.stderr
    assert "hunter2" not in done.stderr


def test_no_service(folder: Path, unused_tcp_port: int) -> None:
    (folder / "jobs.jsonl").write_text(json.dumps(GOOD[0]))
    done = CliRunner().invoke(app, ["batch", "jobs.jsonl", "--address", f"127.0.0.1:{unused_tcp_port}"])
    assert done.exit_code == 3
    assert "1 not done" in done.stderr


def test_interrupted_it_keeps_what_it_has(folder: Path, spawn: Callable[..., Any]) -> None:
    """The second file is far longer than the first, and the service takes its time with each token."""
    (folder / "b.py").write_text("".join(f"x{i} = {i}\n" for i in range(400)))
    jobs = [{"file": "a.py", "update": SNIPPET}, {"file": "b.py", "update": "x0 = 7\n# ... existing code ...\n"}]
    (folder / "jobs.jsonl").write_text("".join(f"{json.dumps(job)}\n" for job in jobs))
    # Whoever starts the tests in the background has SIGINT ignored, in the processes below it as well.
    as_in_a_terminal = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"import signal; {as_in_a_terminal}; from service.cli import main; main()"
    command = [sys.executable, "-c", program, "batch", "jobs.jsonl", "--in-place", "--json", "out.jsonl"]
    with subprocess.Popen(
        [*command, "--address", spawn(0.005).address],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        while not (folder / "out.jsonl").exists() or not (folder / "out.jsonl").read_text().endswith("\n"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 of 2 applied" in errors
    assert "1 not done" in errors
    assert (folder / "a.py").read_text() == AFTER
    assert json.loads((folder / "out.jsonl").read_text())["file"] == "a.py"
