"""An update snippet made ready for placing: its lines, its segments, and what its comments say is removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from drafts.align.candidates import Segment
from drafts.align.indentation import base_name, block_end, continues_block, definition_name, definitions
from drafts.align.inline import fill_elisions
from drafts.align.lines import TAB_WIDTH, Lines, indent_width
from drafts.align.locate import reindent, shift_of
from drafts.align.markers import MarkerKind, RemovalWords, read_marker, read_removal
from drafts.align.snippet import Elision, SnippetText, split_lines

_SHOWN = 3
"""So many lines, all as in the original, show something that stays. Two may be what lay around a deletion, and stand
together elsewhere by chance."""
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


class _Original:
    """The original with the names that it defines, found when first asked for."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(definitions(self.lines))


@dataclass(slots=True)
class Draft:
    """known[i]: segment i is not a new definition, so it has a place of its own. indents_after[i]: columns of the
    elision after segment i, None without one. blanks[i]: blank lines before segment i that belong to no segment (a
    snippet without elisions only). elided: the snippet has elisions.
    stands[i]: segment i shows lines of the original as they are. cuts_off[i]: it does, but for an elision where others
    stand: they go, or the elision was forgotten.
    """

    snippet: Lines
    segments: list[Segment] = field(default_factory=list)
    indents_after: list[int | None] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)
    blanks: list[int] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    elided: bool = False
    stands: list[bool] = field(default_factory=list)
    cuts_off: list[bool] = field(default_factory=list)


def read_draft(original: Lines, snippet_text: str) -> Draft:
    """Split a snippet into segments; re-indent one whose lines stand in the original with another indentation."""
    parts = split_lines(Lines.of(snippet_text), original.positions)
    elided = any(isinstance(part, Elision) for part in parts)
    known = _Original(original)
    contents: list[str] = []
    draft = Draft(Lines((), True), elided=elided)
    for index, part in enumerate(parts):
        if not isinstance(part, SnippetText):
            continue
        kept, removals = _take_removals(known, Lines.of(part.text).contents)
        number, base = len(draft.segments), len(contents)
        draft.removals.extend(
            Removal(base + at, number, name, None if line is None else base + line) for at, name, line in removals
        )
        if not any(line.strip() for line in kept):
            continue
        lines = _fit_indentation(original, fill_elisions(original, kept))
        if elided:
            following = parts[index + 1] if index + 1 < len(parts) else None
            indent = len(following.indent.expandtabs(TAB_WIDTH)) if isinstance(following, Elision) else None
            open_before, open_after = index > 0, index + 1 < len(parts)
            places = _shown(original, lines)
            stands = any((open_before or at_start) and (open_after or at_end) for at_start, at_end in places)
            opens = bool(removals) or stands or (indent is not None and _opens(original, lines))
            draft.segments.append(Segment(base, base + len(lines), open_before, open_after, opens))
            draft.cuts_off.append(bool(places) and not stands)
            draft.stands.append(stands)
            draft.indents_after.append(indent)
            draft.blanks.append(0)
            draft.known.append(True)
            contents.extend(lines)
        else:
            _add_blocks(known, draft, contents, lines)
    draft.snippet = Lines(tuple(contents), True)
    if _is_excerpt(original, draft):
        draft.segments[0] = replace(draft.segments[0], open_before=True)
        draft.segments[-1] = replace(draft.segments[-1], open_after=True)
    return draft


def _shown(original: Lines, lines: Sequence[str]) -> list[tuple[bool, bool]]:
    """Where the lines stand in the original as they are, one after the other: whether it begins and ends with them.

    Lines that may be no more than the context of a deletion are shown nowhere. Blank lines at the ends may only set off
    the elisions.
    """
    filled = [index for index, line in enumerate(lines) if line.strip()]
    for start, end in ((0, len(lines)), (filled[0], filled[-1] + 1)):
        shown = tuple(lines[start:end])
        if len(shown) < _SHOWN:
            break
        found = [
            (not any(original.stripped[:at]), not any(original.stripped[at + len(shown) :]))
            for at in original.places(shown)
        ]
        if found:
            return found
    return []


def _is_excerpt(original: Lines, draft: Draft) -> bool:
    """Elisions only inside: a definition, say, with part of its body left out. What lies around it stays."""
    if not draft.elided or not draft.segments:
        return False
    if draft.segments[0].open_before or draft.segments[-1].open_after:
        return False
    old = [line for line in original.stripped if line]
    new = [line for line in draft.snippet.stripped if line]
    return bool(old) and new[0] in original.positions and new[0] != old[0] and new[-1] != old[-1]


def _opens(original: Lines, lines: Sequence[str]) -> bool:
    """The last line is a definition's head, or the only one and opens a block in the original.

    Then it may only say what the elision after it stands for.
    """
    last = next((line for line in reversed(lines) if line.strip()), "")
    if definition_name(last.strip()) is not None:
        return True
    if len(lines) > 1:
        return False
    indent = indent_width(last)
    for at in original.positions.get(last.strip(), ()):
        following = (original.indents[index] for index in range(at + 1, len(original)))
        inner = next((depth for depth in following if depth is not None), None)
        if inner is not None and inner > indent:
            return True
    return False


def _take_removals(
    original: _Original, lines: Sequence[str]
) -> tuple[list[str], list[tuple[int, str | None, int | None]]]:
    """The lines without removal comments, and for each: (line it stood before, name, line it ended or None)."""
    kept: list[str] = []
    removals: list[tuple[int, str | None, int | None]] = []
    for line in lines:
        text = line
        if line.strip() not in original.lines.positions:
            words = _removal(original, line)
            if words is not None:
                removals.append((len(kept), words.name, None))
                continue
            trailing = _TRAILING_REMOVAL.match(line)
            if trailing is not None and trailing["code"].strip() in original.lines.positions:
                words = _removal(original, trailing["comment"])
                if words is not None:
                    removals.append((len(kept), None, len(kept)))
                    text = trailing["code"]
        kept.append(text)
    return kept, removals


def _removal(original: _Original, comment: str) -> RemovalWords | None:
    marker = read_marker(comment)
    if marker is None or marker.kind is not MarkerKind.REMOVAL:
        return None
    words = read_removal(marker.words)
    if words.plain or (words.name is not None and base_name(words.name) in original.names):
        return words
    return None


def _fit_indentation(original: Lines, lines: Sequence[str]) -> list[str]:
    """Undo a dedent of the whole segment: no line of it stands in the original as it is, several do when shifted.

    Of a definition the first line is enough.
    """
    candidates: list[tuple[str, int]] = []
    for line in lines:
        stripped = line.strip()
        where = original.positions.get(stripped) if stripped else None
        if where is None:
            continue
        if any(original.contents[at] == line for at in where):
            return list(lines)
        if len(where) == 1:
            candidates.append((line, where[0]))
    first = next((line for line in lines if line.strip()), "")
    if len(candidates) < 2 and not (candidates and candidates[0][0] == first and definition_name(first.strip())):
        return list(lines)
    shift = shift_of(original, [line for line, _ in candidates], [at for _, at in candidates])
    return [reindent(line, shift) for line in lines]


def _add_blocks(original: _Original, draft: Draft, contents: list[str], lines: Sequence[str]) -> None:
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
            draft.segments.append(Segment(base, len(contents), True, True, may_be_unchanged=True))
            draft.indents_after.append(None)
            draft.blanks.append(blanks)
            draft.known.append(not _is_new(original, lines[start : index - pending], lowest))
            draft.stands.append(False)
            draft.cuts_off.append(False)
            start = None
        if start is None:
            start, blanks = index, pending
        pending = 0


def _is_new(original: _Original, block: Sequence[str], lowest: int) -> bool:
    """The block defines a name that the original does not."""
    for line in block:
        name = definition_name(line.strip()) if indent_width(line) == lowest else None
        if name is not None:
            return line.strip() not in original.lines.positions and name not in original.names
    return False


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
