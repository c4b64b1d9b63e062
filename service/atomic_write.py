"""Writing a file in one step, so that whoever stops the program leaves the old one or none, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class ChangedMeanwhile(RuntimeError):
    """The file is no longer what it was when it was read."""


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


def replace_content(path: Path, before: bytes, after: bytes) -> None:
    """Whoever looks sees all of `before` or all of `after`; mode kept, links followed.

    Raises ChangedMeanwhile, and OSError; the file is then as it was.
    """
    target = path.resolve(strict=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(target.stat().st_mode & 0o7777)
        if target.read_bytes() != before:
            raise ChangedMeanwhile(f"{path} changed while the edit was made; nothing was written: try again")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
