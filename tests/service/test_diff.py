"""Unified diffs that other tools take."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from service.diff import diff_lines, split_lines, unified_diff


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("a\x0cb\u2028c\n", "a\x0cb\u2028d\n"),
        ("a\rb\n", "a\rc\n"),
        ("x\n", "x\ny\n"),
    ],
)
def test_git_applies_it(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "f.txt"
    file.write_bytes(before.encode())
    diff = unified_diff(before, after, "f.txt").encode()
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=diff, cwd=tmp_path, check=True)
    assert file.read_bytes() == after.encode()


def test_no_change_is_an_empty_diff() -> None:
    assert unified_diff("a\n", "a\n", "f") == ""


def test_the_lines_for_people_have_the_same_content_and_no_ends() -> None:
    lines = diff_lines("a\nb\nc\n", "a\nb\nC", ("old", "new"), context=1)
    assert lines == ["--- old", "+++ new", "@@ -2,2 +2,2 @@", " b", "-c", "+C", "\\ No newline at end of file"]
    assert diff_lines("a", "a", ("old", "new")) == []


@pytest.mark.parametrize(("text", "lines"), [("", []), ("\n", ["\n"]), ("a\r\n\x0cb", ["a\r\n", "\x0cb"])])
def test_lines_end_at_lf_alone(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
