"""Writing a file and replacing one: all or nothing, whatever stands at its path."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from service.atomic_write import ChangedMeanwhile, replace_content, write_whole


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


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "kept" / "file.json")
    write_whole(link, b"one")
    write_whole(link, b"two")
    assert link.is_symlink()
    assert (tmp_path / "kept" / "file.json").read_bytes() == b"two"


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    # As root, putting a file where /dev/null was would break the machine.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"report")
        assert os.read(reader, 100) == b"report"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"x")
