"""What a run needs of files: a report that it goes on from, and which corpus it is over."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:
    """What the file holds; None when there is no file. Raises OSError, and ValueError for what is no JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def corpus_note(path: Path, records: int) -> dict[str, Any]:
    """Which corpus a run was over."""
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "records": records}
