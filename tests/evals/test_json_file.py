"""JSON files of results."""

from __future__ import annotations

import os
from pathlib import Path

from evals.json_file import write_json


def test_a_file_is_made_and_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.json"
    write_json(path, {"é": 1})
    write_json(path, {"é": 2})
    assert path.read_text() == '{\n "\\u00e9": 2\n}\n'
    assert os.listdir(path.parent) == ["out.json"]
