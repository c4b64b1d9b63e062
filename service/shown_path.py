"""A file's path as the service and a diff's reader are to see it."""

from __future__ import annotations

from pathlib import Path


def shown_path(file: Path) -> str:
    """As `git apply` wants it, run where this command is run; of a path that leads elsewhere, the name alone."""
    return file.name if file.is_absolute() or ".." in file.parts else file.as_posix()
