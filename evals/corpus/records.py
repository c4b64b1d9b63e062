"""The format of a corpus: JSON lines, one real edit each; gzip where the file's name ends in .gz.

Every command that takes `--corpus FILE` reads it here, so a record that one of them refuses all of them refuse. A
record has nine fields, all of them strings:

    id           names the record, once in a file
    repo, commit where the edit is from: a repository and a revision, or a package and its two versions
    path         of the file in there, with forward slashes
    language     by the names of service/languages.py
    license      SPDX expression of that repository or package
    instruction  what its author said about it: the commit's message; may be empty
    before, after  the whole file's text, and not the same

and may have a tenth, `sha256` (see `digest`), which the builders write, so that a text that was damaged is noticed
although it still is text. Other fields are ignored.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, cast

from service.atomic_write import write_whole

_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.){1,300}")')
_MAY_BE_EMPTY = ("instruction", "before", "after")


class CorpusError(ValueError):
    """A corpus cannot be read; the message names the file, and the record by its line and, where it is known, its id.

    No text of a record is in the message.
    """


@dataclass(frozen=True, slots=True)
class EditRecord:
    """One real edit; see the module for what the fields hold."""

    id: str
    repo: str
    commit: str
    path: str
    language: str
    license: str
    instruction: str
    before: str
    after: str

    def to_json(self) -> dict[str, str]:
        """The record as it is written, with its digest."""
        return {name: getattr(self, name) for name in FIELDS} | {"sha256": digest(self.before, self.after)}

    @property
    def lines(self) -> int:
        """Lines of the file before the edit."""
        return self.before.count("\n") + (not self.before.endswith("\n") and self.before != "")


FIELDS = tuple(field.name for field in fields(EditRecord))


def digest(before: str, after: str) -> str:
    """SHA-256, in hexadecimal, of both texts' UTF-8 with a NUL between."""
    return hashlib.sha256(f"{before}\0{after}".encode()).hexdigest()


def read_records(path: Path) -> Iterator[EditRecord]:
    """The records in the file's order, one at a time. Raises CorpusError at the first that is not one, and OSError."""
    ids: dict[str, int] = {}
    number = 0
    with path.open("rb") as raw:
        lines = _lines(path, raw)
        while True:
            number += 1
            try:
                line = next(lines, None)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise CorpusError(f"{path}, line {number}: the gzip file ends early or is damaged here") from error
            if line is None:
                break
            if not line.strip():
                continue
            record = _parse(line, f"{path}, line {number}")
            if record.id in ids:
                raise CorpusError(f"{_place(path, number, record.id)}: line {ids[record.id]} has the same id")
            ids[record.id] = number
            yield record
    if not ids:
        raise CorpusError(f"{path} holds no records")


def load_records(path: Path) -> tuple[EditRecord, ...]:
    """All records. Raises CorpusError when any is damaged, also the last one, and OSError."""
    return tuple(read_records(path))


def load_corpora(paths: Iterable[Path]) -> tuple[EditRecord, ...]:
    """The records of several corpora, in order; one that two of them hold is taken once.

    Raises CorpusError, also for two edits of one id, and OSError.
    """
    found: dict[str, tuple[Path, EditRecord]] = {}
    for path in paths:
        for record in read_records(path):
            first, other = found.setdefault(record.id, (path, record))
            if (record.before, record.after) != (other.before, other.after):
                raise CorpusError(
                    f"{path}: the record {record.id!r} is another edit than the one of that id in {first}"
                )
    return tuple(record for _, record in found.values())


def write_records(path: Path, records: Iterable[EditRecord]) -> None:
    """Writes a corpus in one step: the same records give the same bytes, and a failure leaves the old file."""
    data = b"".join(json.dumps(record.to_json(), ensure_ascii=False).encode() + b"\n" for record in records)
    write_whole(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _lines(path: Path, raw: BinaryIO) -> Iterator[bytes]:
    return iter(cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw)


def _place(path: Path | str, number: int, name: str) -> str:
    return f"{path}, line {number} (record {name!r})"


def _parse(line: bytes, where: str) -> EditRecord:
    """One line's record. Raises CorpusError, whose message begins with `where` and the id if it can be read."""
    found = _ID.match(line)
    if found is not None:
        where += f" (record {found[1].decode('utf-8', errors='replace')})"
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise CorpusError(f"{where}: this is no JSON in UTF-8") from None
    if not isinstance(record, dict):
        raise CorpusError(f"{where}: a record is a JSON object, and this is none")
    if found is None and isinstance(record.get("id"), str):
        where += f" (record {json.dumps(record['id'][:300])})"
    missing = [name for name in FIELDS if name not in record]
    if missing:
        raise CorpusError(f"{where}: it has no {', '.join(missing)}; a record has {', '.join(FIELDS)}")
    for name in FIELDS:
        value = record[name]
        if not isinstance(value, str):
            raise CorpusError(f"{where}: {name} must be a string")
        if not value and name not in _MAY_BE_EMPTY:
            raise CorpusError(f"{where}: {name} must not be empty")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise CorpusError(f"{where}: {name} holds half a surrogate pair, which is no text") from None
    edit = EditRecord(**{name: record[name] for name in FIELDS})
    if edit.before == edit.after:
        raise CorpusError(f"{where}: before and after are the same, so it is no edit")
    noted = record.get("sha256")
    if noted is not None and noted != digest(edit.before, edit.after):
        raise CorpusError(f"{where}: its texts do not have the SHA-256 that it notes, so one of them is damaged")
    return edit
