"""An update snippet made ready for placing: its lines, its segments, and what its comments say is removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from drafts.align.indentation import block_end, continues_block
from drafts.align.lines import TAB_WIDTH, Lines
from drafts.align.locate import reindent, shift_of
from drafts.align.markers import MarkerKind, read_marker, removed_name
from drafts.align.place import Segment
from drafts.align.snippet import Elision, SnippetText, split_lines

_TRAILING_REMOVAL = re.compile(r"^(?P<code>.*\S)\s+(?P<comment>(?:#|//|--|/\*).*)$")


@dataclass(frozen=True, slots=True)
class Removal:
    """A comment that says that code is removed: it stood before snippet line `before`, in or next to `segment`.

    name: the identifier it names, if any. line: the snippet line that it ends, when it is a trailing comment.
    """

    before: int
    segment: int
    name: str | None
    line: int | None = None


@dataclass(slots=True)
class Draft:
    """indents_after[i]: columns of the elision after segment i, None without one. blanks[i]: blank lines before
    segment i that belong to no segment (a snippet without elisions only). elided: the snippet has elisions.
    """

    snippet: Lines
    segments: list[Segment] = field(default_factory=list)
    indents_after: list[int | None] = field(default_factory=list)
    blanks: list[int] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    elided: bool = False


def read_draft(original: Lines, snippet_text: str) -> Draft:
    """Split a snippet into segments; re-indent one whose lines stand in the original with another indentation."""
    literal = frozenset(original.stripped)
    parts = split_lines(Lines.of(snippet_text), literal)
    elided = any(isinstance(part, Elision) for part in parts)
    contents: list[str] = []
    draft = Draft(Lines((), True), elided=elided)
    for index, part in enumerate(parts):
        if not isinstance(part, SnippetText):
            continue
        kept, removals = _take_removals(Lines.of(part.text).contents, literal)
        number, base = len(draft.segments), len(contents)
        draft.removals.extend(
            Removal(base + at, number, name, None if line is None else base + line) for at, name, line in removals
        )
        if not any(line.strip() for line in kept):
            continue
        lines = _fit_indentation(original, kept)
        if elided:
            following = parts[index + 1] if index + 1 < len(parts) else None
            indent = len(following.indent.expandtabs(TAB_WIDTH)) if isinstance(following, Elision) else None
            draft.segments.append(Segment(base, base + len(lines), index > 0, index + 1 < len(parts)))
            draft.indents_after.append(indent)
            draft.blanks.append(0)
            contents.extend(lines)
        else:
            _add_blocks(draft, contents, lines)
    draft.snippet = Lines(tuple(contents), True)
    return draft


def _take_removals(
    lines: Sequence[str], literal: frozenset[str]
) -> tuple[list[str], list[tuple[int, str | None, int | None]]]:
    """The lines without removal comments, and for each: (line it stood before, name, line it ended or None)."""
    kept: list[str] = []
    removals: list[tuple[int, str | None, int | None]] = []
    for line in lines:
        stripped = line.strip()
        if stripped in literal:
            kept.append(line)
            continue
        marker = read_marker(stripped)
        if marker is not None and marker.kind is MarkerKind.REMOVAL:
            removals.append((len(kept), removed_name(marker.words), None))
            continue
        trailing = _TRAILING_REMOVAL.match(line)
        if trailing is not None and trailing["code"].strip() in literal:
            marker = read_marker(trailing["comment"])
            if marker is not None and marker.kind is MarkerKind.REMOVAL:
                removals.append((len(kept), None, len(kept)))
                line = trailing["code"]
        kept.append(line)
    return kept, removals


def _fit_indentation(original: Lines, lines: Sequence[str]) -> list[str]:
    """Undo a dedent of the whole segment: no line of it stands in the original as it is, several do when shifted."""
    exact = set(original.contents)
    candidates: list[tuple[str, int]] = []
    for line in lines:
        stripped = line.strip()
        where = original.positions.get(stripped) if stripped else None
        if where is None:
            continue
        if line in exact:
            return list(lines)
        if len(where) == 1:
            candidates.append((line, int(where[0])))
    if len(candidates) < 2:
        return list(lines)
    shift = shift_of(original, [line for line, _ in candidates], [at for _, at in candidates])
    return [reindent(line, shift) for line in lines]


def _add_blocks(draft: Draft, contents: list[str], lines: Sequence[str]) -> None:
    """Cut text without elisions where a new block begins at its lowest indentation after a blank line."""
    text = Lines(tuple(lines), True)
    lowest = min(indent for indent in text.indents if indent is not None)
    start: int | None = None
    blanks = 0
    pending = 0
    for index, indent in enumerate([*text.indents, lowest]):
        at_end = index == len(text)
        if indent is None:
            pending += 1
            continue
        begins = at_end or (indent == lowest and pending and not continues_block(text.stripped[index]))
        if start is not None and begins:
            base = len(contents)
            contents.extend(lines[start : index - pending])
            draft.segments.append(Segment(base, len(contents), True, True))
            draft.indents_after.append(None)
            draft.blanks.append(blanks)
            start = None
        if start is None:
            start, blanks = index, pending
        pending = 0


def head_line(snippet: Lines, segment: Segment, matches: Sequence[int]) -> int | None:
    """The last line at the segment's lowest indentation that is placed and opens its block; None without one."""
    depths = [snippet.indents[index] for index in range(segment.start, segment.end)]
    lowest = min((depth for depth in depths if depth is not None), default=None)
    for index in range(segment.end - 1, segment.start - 1, -1):
        if snippet.indents[index] == lowest and not continues_block(snippet.stripped[index]):
            return index if matches[index] >= 0 else None
    return None


def block_within(snippet: Lines, segment: Segment, head: int) -> bool:
    """The segment's lines from `head` on are one block."""
    return block_end(snippet, head) >= segment.end
