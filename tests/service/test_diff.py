"""Unified diffs that other tools take."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from service.diff import unified_diff


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
