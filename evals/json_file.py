"""JSON files of results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Writes or replaces the file in one step: whoever stops the program finds the file as it was before or after."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)
