"""The single edits that points lead to: their texts where they are at hand, and what each run measured on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from evals.corpus.records import EditRecord, digest
from evals.html.model import DiffLine, EditView, NamedDiff, Strip, Table
from service.diff import diff_lines

CONTEXT_LINES: Final = 3
MAX_DIFF_LINES: Final = 400

NO_TEXTS: Final = (
    "The run's file carries no texts. Give the corpus that it was over with --corpus to see the edit here."
)
OTHER_TEXTS: Final = "The corpus given has other texts under this id, so no diff is shown."


def diff(before: str, after: str) -> tuple[DiffLine, ...]:
    """A unified diff without its file header, cut after MAX_DIFF_LINES. Line ends are not shown."""
    return read_diff(diff_lines(before, after, ("before", "after"), CONTEXT_LINES))


def read_diff(lines: Sequence[str]) -> tuple[DiffLine, ...]:
    """The lines of a unified diff, without its file header."""
    body = lines[2:] if lines[:1] and lines[0].startswith("---") else lines
    made = [
        DiffLine({"@": "hunk", "+": "added", "-": "removed", "\\": "hunk"}.get(line[:1], "same"), line.rstrip("\r"))
        for line in body[:MAX_DIFF_LINES]
    ]
    if len(body) > MAX_DIFF_LINES:
        made.append(DiffLine("hunk", f"... {len(body) - MAX_DIFF_LINES} more lines of the diff are not shown"))
    return tuple(made)


@dataclass(slots=True)
class _Entry:
    key: str
    facts: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)
    answers: list[NamedDiff] = field(default_factory=list)
    strip: Strip | None = None


class Edits:
    """Collects what is said about each edit. records: the texts at hand, whose ids name them."""

    def __init__(self, records: Iterable[EditRecord] = ()) -> None:
        self._records = {record.id: record for record in records}
        self._entries: dict[str, _Entry] = {}

    def record(self, name: str) -> EditRecord | None:
        return self._records.get(name)

    def offer(self, records: Iterable[EditRecord]) -> None:
        """More texts; those that are there already stay."""
        for record in records:
            self._records.setdefault(record.id, record)

    def key(self, name: str) -> str:
        """What a point carries to lead to the edit of that id."""
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Entry(f"edit-{len(self._entries)}")
        return entry.key

    def note(self, name: str, *, fact: str | None = None, table: Table | None = None, texts: str | None = None) -> None:
        """More about an edit. texts: the digest of those that were measured (see corpus.records.digest)."""
        self.key(name)
        entry = self._entries[name]
        if fact is not None and fact not in entry.facts:
            entry.facts.append(fact)
        if table is not None:
            entry.tables.append(table)
        if texts is not None:
            entry.digests.add(texts)

    def answer(self, name: str, title: str, difference: str) -> None:
        """A unified diff from the author's text to a model's."""
        self.key(name)
        self._entries[name].answers.append(NamedDiff(title, read_diff(difference.split("\n"))))

    def draw(self, name: str, strip: Strip) -> None:
        self.key(name)
        self._entries[name].strip = strip

    def views(self) -> tuple[EditView, ...]:
        """In the order in which they were first named."""
        return tuple(self._view(name, entry) for name, entry in self._entries.items())

    def _view(self, name: str, entry: _Entry) -> EditView:
        record = self._records.get(name)
        missing = NO_TEXTS if record is None else ""
        if record is not None and entry.digests - {digest(record.before, record.after)}:
            record, missing = None, OTHER_TEXTS
        return EditView(
            key=entry.key,
            title=name,
            facts=(*([] if record is None else _about(record)), *entry.facts),
            diff=None if record is None else diff(record.before, record.after),
            missing=missing,
            tables=tuple(entry.tables),
            answers=tuple(entry.answers),
            strip=entry.strip,
        )


def _about(record: EditRecord) -> Sequence[str]:
    return [
        f"{record.path}, {record.language}, {record.lines} lines; from {record.repo} {record.commit} ({record.license})"
    ]
