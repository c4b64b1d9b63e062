"""Writing a file in one step, whatever stands at its path."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from evals.json_file import write_json
from evals.whole_file import write_whole


def test_a_file_is_made_and_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.json"
    write_json(path, {"é": 1})
    write_json(path, {"é": 2})
    assert path.read_text() == '{\n "\\u00e9": 2\n}\n'
    assert os.listdir(path.parent) == ["out.json"]


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
