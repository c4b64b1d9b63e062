"""Elisions inside a line: `def pick(...):`, `f(/* ... existing arguments ... */)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drafts.align.indentation import definition_name
from drafts.align.lines import Lines, indent_of
from drafts.align.markers import MarkerKind, read_marker

_MARK = re.compile(r"/\*.*?\*/|<!--.*?-->|(?<=[(\[{])\s*(?:\.\.\.|…)\s*(?=[)\]}])")
_LEAST = 4
"""Characters, blanks aside, that must stand around an elision to say which line it is in."""


def fill_elisions(original: Lines, lines: Sequence[str]) -> list[str]:
    """The lines, with the original's own where one has an elision inside and only one line of the original fits it."""
    return [_filled(original, line) for line in lines]


def _filled(original: Lines, line: str) -> str:
    if line.strip() in original.positions:
        return line
    mark = _MARK.search(line)
    if mark is None or not _elides(line, mark[0]):
        return line
    before, after = line[: mark.start()].strip(), line[mark.end() :].strip()
    if len(before) + len(after) < _LEAST:
        return line
    fitting = [
        stripped
        for stripped in original.positions
        if stripped.startswith(before) and stripped.endswith(after) and len(stripped) > len(before) + len(after)
    ]
    return indent_of(line) + fitting[0] if len(fitting) == 1 else line


def _elides(line: str, mark: str) -> bool:
    """A comment says so by its wording; bare dots only in a definition's head: elsewhere they are code."""
    if mark.strip() in ("...", "…"):
        return definition_name(line.strip()) is not None
    found = read_marker(mark)
    return found is not None and found.kind is MarkerKind.ELISION and line.strip() != mark
