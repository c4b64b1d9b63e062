"""The files of runs: what every report's JSON begins with, a report that a run goes on from, and its corpora."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

SCHEMA: Final = 1

_R = TypeVar("_R")


def read_json(path: Path) -> Any:
    """What the file holds; None when there is no file. Raises OSError, and ValueError for what is no JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


class OtherRunError(ValueError):
    """A file holds something else than an earlier part of this run; the message says what differs."""


def envelope(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """A report as it is written: which kind it is and of which schema, and what it holds."""
    return {"schema": SCHEMA, "kind": kind, **body}


def content(record: Any, kind: str, make: Callable[[dict[str, Any]], _R]) -> _R:
    """What `make` reads from a report of that kind. Raises OtherRunError for anything else than envelope gives."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA or record.get("kind") != kind:
        raise OtherRunError(f"it is no {kind} report of schema {SCHEMA}")
    try:
        return make(record)
    except (KeyError, TypeError, AttributeError) as error:
        raise OtherRunError(f"it is no whole {kind} report: {error}") from error


class Resumable(Protocol):
    """setup: what a run must share with the one that it goes on from."""

    @property
    def setup(self) -> dict[str, Any]: ...


_Report = TypeVar("_Report", bound=Resumable)


def resume(path: Path, new: _Report, from_json: Callable[[Any], _Report]) -> _Report:
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
    return report


def corpus_note(paths: Sequence[Path], records: int) -> dict[str, Any]:
    """Which corpora a run was over, and how many edits they hold."""
    files = [{"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in paths]
    return {"files": files, "records": records}


def corpus_options(paths: Sequence[Path]) -> str:
    """For the next command's line."""
    return " ".join(f"--corpus {path}" for path in paths)
