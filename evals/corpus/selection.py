"""Which of a corpus's edits a run takes. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.corpus.records import EditRecord


class EmptySelectionError(ValueError):
    """No record passes; the message says what the corpus has."""


@dataclass(frozen=True, slots=True)
class Selection:
    """languages: empty takes all. max_lines: of the file before the edit. max_edits: so many, drawn by the seed."""

    languages: tuple[str, ...] = ()
    max_lines: int | None = None
    max_edits: int | None = None
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"languages": list(self.languages)}


def select(records: Sequence[EditRecord], selection: Selection) -> list[EditRecord]:
    """The records that pass, short files first, so that a run that is cut off has as many as it can.

    A record's turn depends on the seed and its id alone: a corpus that grows, or a larger max_edits, only adds.
    Raises EmptySelectionError.
    """
    passed = [
        record
        for record in records
        if (not selection.languages or record.language in selection.languages)
        and (selection.max_lines is None or record.lines <= selection.max_lines)
    ]
    if not passed:
        languages = ", ".join(sorted({record.language for record in records}))
        shortest = min((record.lines for record in records), default=0)
        raise EmptySelectionError(
            f"none of the {len(records)} records is chosen; they are in {languages}, and the shortest file has "
            f"{shortest} lines"
        )
    passed.sort(key=lambda record: turn(selection.seed, record.id))
    return sorted(passed[: selection.max_edits], key=lambda record: (len(record.before), record.id))


def turn(seed: int, name: str) -> bytes:
    """A place in an order that looks random, and is the same wherever and whenever it is asked for."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()
