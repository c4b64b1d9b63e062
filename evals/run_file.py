"""A report's JSON file while its run goes on: it is whole at every moment, and the same command goes on from it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from evals.corpus.whole_file import write_whole


def read_json(path: Path) -> Any:
    """What the file holds; None when there is no file. Raises OSError, and ValueError for what is no JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def write_json(path: Path, report: Any) -> None:
    """In one step. Raises OSError; the file is then as it was."""
    write_whole(path, (json.dumps(report, indent=1, ensure_ascii=False) + "\n").encode("utf-8", errors="replace"))


def corpus_note(path: Path, records: int) -> dict[str, Any]:
    """Which corpus a run was over."""
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "records": records}
