"""What a run needs of files: a report that it goes on from, and which corpora it is over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar


def read_json(path: Path) -> Any:
    """What the file holds; None when there is no file. Raises OSError, and ValueError for what is no JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


class OtherRunError(ValueError):
    """A file holds something else than an earlier part of this run; the message says what differs."""


class Resumable(Protocol):
    """setup: what a run must share with the one that it goes on from."""

    setup: dict[str, Any]
    complete: bool


_R = TypeVar("_R", bound=Resumable)


def resume(path: Path, new: _R, from_json: Callable[[Any], _R]) -> _R:
    """The report that the file holds, to go on from; `new` when there is no file.

    Raises OtherRunError for a file that holds something else, or a run of another setup; and OSError.
    """
    try:
        found = read_json(path)
        if found is None:
            return new
        report = from_json(found)
    except ValueError as error:
        raise OtherRunError(f"{path} is there already, and {error}; name another file") from None
    changed = [name for name in new.setup if report.setup.get(name) != new.setup[name]]
    if changed:
        raise OtherRunError(f"{path} holds a run of another setup ({', '.join(changed)} differ); name another file")
    report.complete = False
    return report


def corpus_note(paths: Sequence[Path], records: int) -> dict[str, Any]:
    """Which corpora a run was over, and how many edits they hold."""
    files = [{"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in paths]
    return {"files": files, "records": records}


def corpus_options(paths: Sequence[Path]) -> str:
    """For the next command's line."""
    return " ".join(f"--corpus {path}" for path in paths)
