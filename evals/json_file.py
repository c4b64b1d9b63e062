"""JSON files of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from service.atomic_write import write_whole


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Writes or replaces the file in one step: whoever stops the program finds the file as it was before or after."""
    write_whole(path, (json.dumps(record, indent=1) + "\n").encode())
