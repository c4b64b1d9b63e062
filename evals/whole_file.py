"""Writing a file in one step, so that an interrupted command leaves the old one or none, never half of one."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Makes the folder if need be, and follows links. Raises OSError; the file is then as it was.

    What is no file (/dev/stdout, a pipe) is written to as it is: putting a file in its place would take it from others.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
