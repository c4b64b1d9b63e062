"""`redraft apply` as a process, against a service without a model; what it prints, writes and returns."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli import app

BEFORE = "def f():\n    return 1\n\n\ndef g():\n    return 2"
SNIPPET = "# ... existing code ...\n\n\ndef g():\n    return 3\n"
AFTER = BEFORE.replace("return 2", "return 3")
PATCH = "@@ -6 +6 @@\n-    return 2\n+    return 3\n"
BLOCKS = "<<<<<<< SEARCH\n    return 2\n=======\n    return 3\n>>>>>>> REPLACE\n"


def redraft(*arguments: str | Path, stdin: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def refused(*arguments: str | Path, stdin: str = "") -> tuple[int, str, str]:
    """Exit status, standard output and error of `redraft apply`, in this process: starting one takes longer."""
    done = CliRunner().invoke(app, ["apply", *map(str, arguments)], input=stdin, env={"COLUMNS": "200"})
    if not isinstance(done.exception, SystemExit):  # what else ends it would be a traceback in a shell
        raise done.exception or AssertionError("nothing was refused")
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(BEFORE)
    return path


@pytest.fixture
def snippet(tmp_path: Path) -> Path:
    path = tmp_path / "snippet.txt"
    path.write_text(SNIPPET)
    return path


def test_prints_the_result_and_figures(scripted_address: str, file: Path, snippet: Path) -> None:
    done = redraft("apply", file, "--update", snippet, "--address", scripted_address)
    assert (done.returncode, done.stdout) == (0, AFTER)
    assert "target passes" in done.stderr
    assert file.read_text() == BEFORE


def test_quiet(scripted_address: str, file: Path, snippet: Path) -> None:
    done = redraft("apply", file, "--update", snippet, "--address", scripted_address, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, AFTER, "")


@pytest.mark.parametrize(
    ("flag", "edit"),
    [("--update", SNIPPET), ("--patch", PATCH), ("--blocks", BLOCKS)],
    ids=["update", "patch", "blocks"],
)
def test_edits_from_standard_input(scripted_address: str, file: Path, flag: str, edit: str) -> None:
    done = redraft("apply", file, flag, "-", "--address", scripted_address, stdin=edit)
    assert (done.returncode, done.stdout) == (0, AFTER)


def test_diff_can_be_applied(scripted_address: str, file: Path, snippet: Path) -> None:
    done = redraft("apply", file, "--update", snippet, "--diff", "--address", scripted_address)
    assert done.returncode == 0
    assert "\\ No newline at end of file\n" in done.stdout
    applied = subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=file.parent, check=False)
    assert applied.returncode == 0
    assert file.read_text() == AFTER


@pytest.mark.parametrize("given", ["src/deep/a.py", "./src/deep/a.py", "src//deep/a.py"])
def test_diff_of_a_file_in_a_folder_can_be_applied_from_here(
    scripted_address: str, tmp_path: Path, snippet: Path, given: str
) -> None:
    file = tmp_path / "src" / "deep" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text(BEFORE)
    done = redraft("apply", given, "--update", snippet, "--diff", "--address", scripted_address, folder=tmp_path)
    assert done.stdout.startswith("--- a/src/deep/a.py\n+++ b/src/deep/a.py\n")
    applied = subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=tmp_path, check=False)
    assert applied.returncode == 0
    assert file.read_text() == AFTER


def test_diff_of_a_file_elsewhere_has_its_name_alone(scripted_address: str, file: Path, snippet: Path) -> None:
    folder = file.parent / "here"
    folder.mkdir()
    done = redraft("apply", "../a.py", "--update", snippet, "--diff", "--address", scripted_address, folder=folder)
    assert done.stdout.startswith("--- a/a.py\n+++ b/a.py\n")


def test_says_when_the_place_is_uncertain(scripted_address: str, file: Path, snippet: Path) -> None:
    file.write_text("def f():\n    x = 1\n\n\ndef g():\n    x = 1\n\n\ndef h():\n    return 2\n")
    vague = "# ... existing code ...\n    x = 1\n    y = 2\n# ... existing code ...\n"
    done = redraft("apply", file, "--update", "-", "--address", scripted_address, stdin=vague)
    file.write_text(BEFORE)
    sure = redraft("apply", file, "--update", snippet, "--address", scripted_address)
    assert done.returncode == 0
    assert "check the place" in done.stderr
    assert "check the place" not in sure.stderr


def test_in_place_keeps_the_mode_and_follows_links(scripted_address: str, file: Path, snippet: Path) -> None:
    file.chmod(0o751)
    link = file.with_name("link.py")
    link.symlink_to(file.name)
    done = redraft("apply", link, "--update", snippet, "--in-place", "--address", scripted_address)
    assert (done.returncode, done.stdout) == (0, "")
    assert link.is_symlink()
    assert file.read_text() == AFTER
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert sorted(os.listdir(file.parent)) == ["a.py", "link.py", "snippet.txt"]


@pytest.mark.parametrize(
    ("edit", "flags", "status", "says"),
    [
        ("", [], 2, "edit.update_snippet: the edit is empty"),
        (SNIPPET, ["--language", "klingon"], 2, "file.language: not a known language"),
        (SNIPPET, ["--diff", "--in-place"], 2, "choose one of"),
        (SNIPPET, ["--patch", "-"], 2, "choose one of"),
        (SNIPPET, ["--model", "x"], 2, "leave out --address"),
    ],
)
def test_failures_write_nothing(
    scripted_address: str, file: Path, edit: str, flags: list[str], status: int, says: str
) -> None:
    before = file.stat()
    arguments = ["--update", "-", *flags, "--address", scripted_address]
    code, out, err = refused(file, *arguments, *([] if "--diff" in flags else ["--in-place"]), stdin=edit)
    assert (code, out) == (status, "")
    assert says in err
    assert file.read_text() == BEFORE
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_an_edit_that_does_not_apply(scripted_address: str, file: Path) -> None:
    done = redraft("apply", file, "--instruction", "return 3 from g", "--address", scripted_address)
    assert done.returncode == 1
    assert "FORM_NOT_SUPPORTED_BY_MODEL" in done.stderr


def test_no_edit(file: Path) -> None:
    code, out, err = refused(file, "--address", "localhost:1")
    assert (code, out) == (2, "")
    assert "--update" in err


def test_missing_files(file: Path, tmp_path: Path) -> None:
    cases: list[list[str | Path]] = [
        [tmp_path / "none.py", "--update", file],
        [file, "--update", tmp_path / "none.txt"],
    ]
    for arguments in cases:
        code, out, err = refused(*arguments, "--address", "localhost:1")
        assert (code, out) == (2, "")
        assert "none" in err


def test_no_service(file: Path, snippet: Path, unused_tcp_port: int) -> None:
    done = redraft("apply", file, "--update", snippet, "--address", f"127.0.0.1:{unused_tcp_port}")
    assert done.returncode == 3
    assert f"127.0.0.1:{unused_tcp_port}" in done.stderr


def test_a_service_of_its_own_that_cannot_start(file: Path, snippet: Path, tmp_path: Path) -> None:
    done = redraft("apply", file, "--update", snippet, "--config", tmp_path / "none.toml")
    assert done.returncode == 3
    assert "none.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_names_the_commands() -> None:
    done = redraft("--help")
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "apply" in done.stdout
