"""Unified diffs of one file: parsing, and placing by content with the line numbers as hints."""

from __future__ import annotations

import re
from dataclasses import dataclass

from drafts.align.build import Change, build_plan, keep_all
from drafts.align.errors import EditParseError
from drafts.align.hunks import HunkLine, Op, apply_hunk, old_lines
from drafts.align.lines import Lines
from drafts.align.locate import Located, locate
from drafts.align.plan import Plan

_HEADER = re.compile(r"^@@+\s*-(\d+)(?:,(\d+))?\s+\+(\d+)(?:,(\d+))?\s*@@")
_BARE_HEADER = re.compile(r"^@@(?:\s+[^-\s].*)?\s*$")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """One hunk. start: the first line it is about, counted from 0, or None when its header has no numbers.

    new_final_newline: what the hunk says about the LF at the end of the new file; None when it says nothing.
    """

    start: int | None
    lines: tuple[HunkLine, ...]
    new_final_newline: bool | None = None


def parse_unified_diff(text: str) -> tuple[DiffHunk, ...]:
    """The hunks of a unified diff of one file.

    Counts in the headers may be wrong; a missing hunk, a line without one of the prefixes, or a second file raises
    EditParseError.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        while self.lines and not self.lines[-1].strip():
            self.lines.pop()
        if self.lines and _FENCE.match(self.lines[-1]):
            self.lines.pop()
        self.hunks: list[DiffHunk] = []

    def parse(self) -> tuple[DiffHunk, ...]:
        index = 0
        while index < len(self.lines):
            line = self.lines[index]
            if line.startswith("@@"):
                index = self._hunk(index)
            elif self._is_file_header(index):
                if self.hunks:
                    raise EditParseError("a second file begins; send one diff for each file", index + 1)
                index += 2
            elif self.hunks and line.strip() and not line.startswith(("diff ", "index ")):
                raise EditParseError("expected a hunk header (@@ -a,b +c,d @@) here", index + 1)
            elif self.hunks and line.startswith("diff "):
                raise EditParseError("a second file begins; send one diff for each file", index + 1)
            elif line[:1] in ("+", "-") and not line.startswith(("+++", "---")):
                raise EditParseError("changed lines before the first hunk header (@@ -a,b +c,d @@)", index + 1)
            else:
                index += 1
        if not self.hunks:
            raise EditParseError("the diff has no hunk; each begins with a header like @@ -a,b +c,d @@", 1)
        return tuple(self.hunks)

    def _is_file_header(self, index: int) -> bool:
        following = self.lines[index + 1] if index + 1 < len(self.lines) else ""
        return self.lines[index].startswith("--- ") and following.startswith("+++ ")

    def _hunk(self, index: int) -> int:
        header = _HEADER.match(self.lines[index])
        if header is None and not _BARE_HEADER.match(self.lines[index]):
            raise EditParseError("malformed hunk header; expected @@ -a,b +c,d @@", index + 1)
        first = index + 1
        start: int | None = None
        old_left = new_left = -1
        if header is not None:
            old_left = int(header[2]) if header[2] is not None else 1
            new_left = int(header[4]) if header[4] is not None else 1
            # A hunk without old lines names the line that it follows.
            start = max(0, int(header[1]) - (1 if old_left else 0))
        body: list[HunkLine] = []
        new_final_newline: bool | None = None
        index += 1
        while index < len(self.lines):
            line = self.lines[index]
            complete = header is not None and old_left <= 0 and new_left <= 0
            if line.startswith(("@@", "diff --git ")):
                break
            if self._is_file_header(index) and (complete or header is None):
                break
            if line.startswith("\\"):
                new_final_newline = self._no_newline(body, new_final_newline, index)
                index += 1
                continue
            if complete and not line.strip():
                index += 1
                continue
            body.append(self._body_line(line, index))
            old_left -= body[-1].op is not Op.ADD
            new_left -= body[-1].op is not Op.REMOVE
            index += 1
        if not body:
            raise EditParseError("the hunk has no lines", first)
        self.hunks.append(DiffHunk(start, tuple(body), new_final_newline))
        return index

    @staticmethod
    def _no_newline(body: list[HunkLine], known: bool | None, index: int) -> bool:
        if not body:
            raise EditParseError("a no-newline mark must follow a line of the hunk", index + 1)
        # After a removed line it says that the old file had no LF; the new one has, unless a later mark says otherwise.
        return body[-1].op is Op.REMOVE if known is not False else False

    @staticmethod
    def _body_line(line: str, index: int) -> HunkLine:
        if not line:
            return HunkLine(Op.CONTEXT, "")
        try:
            return HunkLine(Op(line[0]), line[1:])
        except ValueError:
            raise EditParseError("a line of a hunk must begin with a blank, '+', '-' or '\\'", index + 1) from None


def plan_diff(original_text: str, diff_text: str) -> Plan:
    """Place every hunk, in order. A malformed diff, or one of which no hunk can be placed, keeps the original."""
    try:
        hunks = parse_unified_diff(diff_text)
    except EditParseError:
        return keep_all(original_text)
    original = Lines.of(original_text)
    changes: list[Change] = []
    confidence = 1.0
    low = drift = placed = 0
    final_newline: bool | None = None if len(original) else True
    for hunk in hunks:
        hint = None if hunk.start is None else hunk.start + drift
        found = _place(original, hunk, low, hint)
        if found is None:
            confidence = 0.0
            continue
        placed += 1
        if hunk.start is not None:
            drift = found.start - hunk.start
        changes.extend(changes_from(original, apply_hunk(original, hunk.lines, found), found))
        low = found.end
        confidence = min(confidence, found.confidence)
        if hunk.new_final_newline is not None:
            final_newline = hunk.new_final_newline
    if not placed:
        return keep_all(original_text)
    if placed < len(hunks):
        confidence = 0.1
    return build_plan(original, changes, confidence, final_newline=final_newline)


def _place(original: Lines, hunk: DiffHunk, low: int, hint: int | None) -> Located | None:
    old = old_lines(hunk.lines)
    if old:
        return locate(original, old, low, hint)
    if hint is None and len(original):
        return None
    at = min(max(hint or 0, low), len(original))
    return Located(at, at, (), 0.8, True)


def changes_from(original: Lines, applied: list[tuple[str, int]], found: Located) -> list[Change]:
    """The changes within [found.start, found.end) that make its lines those of `applied`."""
    changes: list[Change] = []
    position = found.start
    pending: list[str] = []
    for line, match in [*applied, ("", found.end)]:
        if match < 0:
            pending.append(line)
            continue
        if match > position or pending:
            changes.append(Change(position, match, tuple(pending), found.confidence))
        position, pending = match + 1, []
    return changes
