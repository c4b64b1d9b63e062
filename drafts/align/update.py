"""Placing an update snippet: from its text and elisions to changes of the original's lines."""

from __future__ import annotations

from drafts.align.build import Change, build_plan, keep_all
from drafts.align.lines import Lines
from drafts.align.place import Placement, Segment, place
from drafts.align.plan import Plan
from drafts.align.similar import similar_lines
from drafts.align.snippet import SnippetText, split_lines


def plan_update(original_text: str, snippet_text: str, language: str | None = None) -> Plan:
    original = Lines.of(original_text)
    parts = split_lines(Lines.of(snippet_text), frozenset(original.stripped))
    contents: list[str] = []
    segments: list[Segment] = []
    for index, part in enumerate(parts):
        if isinstance(part, SnippetText):
            lines = Lines.of(part.text).contents
            segments.append(Segment(len(contents), len(contents) + len(lines), index > 0, index + 1 < len(parts)))
            contents.extend(lines)
    if not segments:
        return keep_all(original_text)
    snippet = Lines(tuple(contents), True)
    placement = place(original, snippet, segments, _similar(original, snippet))
    changes = changes_of(original, snippet, segments, placement)
    return build_plan(original, changes, 0.9)


def _similar(original: Lines, snippet: Lines) -> dict[int, list[tuple[int, float]]]:
    wanted = [i for i, line in enumerate(snippet.stripped) if line and line not in original.positions]
    return similar_lines(original, snippet, wanted)


def changes_of(original: Lines, snippet: Lines, segments: list[Segment], placement: Placement) -> list[Change]:
    changes: list[Change] = []
    for segment, (low, high) in zip(segments, placement.ends, strict=True):
        position = low
        pending: list[str] = []
        for index in range(segment.start, segment.end):
            match = placement.matches[index]
            if match >= 0 and original.contents[match] == snippet.contents[index]:
                if match > position or pending:
                    changes.append(Change(position, match, tuple(pending), 0.9))
                position, pending = match + 1, []
            else:
                pending.append(snippet.contents[index])
        if position < high or pending:
            changes.append(Change(position, high, tuple(pending), 0.9))
    return changes
