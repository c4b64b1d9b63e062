"""Replacing a file: all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.atomic_write import ChangedMeanwhile, replace_content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "f"
    file.write_bytes(b"before")
    return file


def test_replaces(path: Path) -> None:
    inode = path.stat().st_ino
    replace_content(path, b"before", b"after")
    assert path.read_bytes() == b"after"
    assert path.stat().st_ino != inode  # another file took its place: nobody saw half of it
    assert os.listdir(path.parent) == ["f"]


def test_a_file_that_changed_meanwhile_is_left_alone(path: Path) -> None:
    path.write_bytes(b"somebody else's")
    with pytest.raises(ChangedMeanwhile):
        replace_content(path, b"before", b"after")
    assert path.read_bytes() == b"somebody else's"
    assert os.listdir(path.parent) == ["f"]


def test_a_failure_leaves_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_content(path, b"before", b"after")
    assert path.read_bytes() == b"before"
    assert os.listdir(path.parent) == ["f"]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_content(tmp_path / "none", b"", b"after")
