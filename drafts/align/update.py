"""Placing an update snippet: from its text and elisions to changes of the original's lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drafts.align.build import Change, build_plan, keep_all
from drafts.align.confidence import segment_confidences
from drafts.align.evidence import Evidence
from drafts.align.indentation import base_name, block_end, definition_name
from drafts.align.lines import Lines, matching_blocks
from drafts.align.place import NEW, STRAY, Placement, place
from drafts.align.plan import Plan
from drafts.align.segments import Draft, Removal, block_within, head_line, read_draft
from drafts.align.structure import Syntax
from drafts.align.words import Words

# Without elisions a definition comes whole: where the original has that name is where it goes.
_WHOLE_DEFINITION = 5.0


def plan_update(original_text: str, snippet_text: str, syntax: Syntax | None = None) -> Plan:
    """The plan of an update snippet. Nothing to place, or nothing that finds a place: keeps the original."""
    original = Lines.of(original_text)
    draft = read_draft(original, snippet_text)
    if not draft.segments and not draft.removals:
        return keep_all(original_text)
    if not original_text.strip():
        return _new_file(original, draft, snippet_text)
    if not draft.elided:
        whole = _whole_file(original, draft, snippet_text)
        if whole is not None:
            return whole
    if not draft.segments:
        return _only_removals(original_text, original, draft)
    placement, placed, confidences = _place(original, draft, syntax)
    if not any(placed) and not _has_open_end(draft):
        return keep_all(original_text)
    ends = _ends(original, draft, placement, placed, confidences)
    pieces, covered = _pieces(original, draft, placement, ends, placed, confidences)
    sure = 1.0
    for confidence in confidences:
        sure *= confidence
    if not draft.removals:
        changes = [change for piece in pieces for change in _changes(piece.items, covered, piece.start, piece.end)]
        return build_plan(original, changes, sure)
    items = _items(original, pieces)
    for removal in draft.removals:
        items, done = _apply_removal(original, draft, placement, ends, items, removal)
        sure *= 0.9 if done else 0.5
    return build_plan(original, _changes(items, covered, 0, len(original)), sure)


def _place(original: Lines, draft: Draft, syntax: Syntax | None) -> tuple[Placement, list[bool], list[float]]:
    """Place the segments; those that are new definitions get an empty range, to be settled by `_ends`.

    Returns also which segments found a place and how sure each is.
    """
    snippet = draft.snippet
    known = [segment for segment, is_known in zip(draft.segments, draft.known, strict=True) if is_known]
    found = Placement([NEW] * len(snippet), [], [])
    if known:
        evidence = Evidence(original, snippet, syntax, Words(original))
        same_name = 1.0 if draft.elided else _WHOLE_DEFINITION
        must_change = draft.elided and all(draft.known) and not draft.removals and not all(draft.stands)
        found = place(known, evidence, same_name=same_name, must_change=must_change)
    each = iter(zip(found.ends, found.margins, strict=True))
    both = [next(each) if is_known else (None, 0.0) for is_known in draft.known]
    placement = Placement(found.matches, [ends for ends, _ in both], [margin for _, margin in both])
    placed = [ends is not None for ends in placement.ends]
    return placement, placed, segment_confidences(draft, placement, placed)


def _new_file(original: Lines, draft: Draft, snippet_text: str) -> Plan:
    change = Change(0, len(original), draft.snippet.contents, 0.5 if draft.elided else 1.0)
    if not draft.elided:
        change = Change(0, len(original), Lines.of(snippet_text).contents, 1.0)
    final_newline = original.final_newline if len(original) else snippet_text.endswith("\n")
    return build_plan(original, [change], change.confidence, final_newline=final_newline)


def _whole_file(original: Lines, draft: Draft, snippet_text: str) -> Plan | None:
    """The plan of a snippet that is the whole edited file; None when it is a part of it."""
    lines = Lines.of(snippet_text)
    if draft.removals or draft.snippet.contents != tuple(line for line in lines.contents if line.strip()):
        lines = _without_fence(lines, draft)
    old = [line for line in original.stripped if line]
    new = [line for line in lines.stripped if line]
    if not old or not new:
        return None
    blocks = matching_blocks(original.contents, lines.contents)
    filled = sum(1 for start, _, size in blocks for line in original.stripped[start : start + size] if line)
    share = filled / len(old)
    starts, ends = old[0] == new[0], old[-1] == new[-1]
    new_start, new_end = new[0] not in original.positions, new[-1] not in original.positions
    is_whole = (
        (starts and ends and share >= 0.3)
        or (starts and share >= 0.6)
        or (ends and new_start and share >= 0.6)
        or (new_start and new_end and share >= 0.7)
    )
    if not is_whole:
        return None
    confidence = 0.97 if starts and ends else 0.85
    changes: list[Change] = []
    position = at = 0
    for start, new_start_at, size in [*blocks, (len(original), len(lines), 0)]:
        if start > position or new_start_at > at:
            changes.append(Change(position, start, lines.contents[at:new_start_at], confidence))
        position, at = start + size, new_start_at + size
    return build_plan(original, changes, confidence)


def _without_fence(lines: Lines, draft: Draft) -> Lines:
    """The snippet's lines without fence lines around it and without removal comments."""
    kept = set(draft.snippet.contents)
    contents = [line for line in lines.contents if not line.strip() or line in kept]
    return Lines(tuple(contents), lines.final_newline)


def _only_removals(original_text: str, original: Lines, draft: Draft) -> Plan:
    items: list[tuple[str, int]] = [(line, index) for index, line in enumerate(original.contents)]
    sure = 1.0
    for removal in draft.removals:
        items, done = _remove_named(original, items, removal.name, 0, len(original))
        sure *= 0.8 if done else 0.0
    if len(items) == len(original):
        return keep_all(original_text)
    return build_plan(original, _changes(items, [sure] * (len(original) + 1), 0, len(original)), max(sure, 0.1))


def _has_open_end(draft: Draft) -> bool:
    """Text only before or only after an elision: it goes to the start or to the end of the file."""
    return draft.elided and not (draft.segments[0].open_before and draft.segments[-1].open_after)


def _ends(
    original: Lines, draft: Draft, placement: Placement, placed: Sequence[bool], confidences: list[float]
) -> list[tuple[int, int]]:
    """The original's range of each segment, once blocks and segments without a place are seen to."""
    ends = [each or (0, 0) for each in placement.ends]
    count = len(ends)
    for number, segment in enumerate(draft.segments):
        low, high = ends[number]
        limit = next((ends[k][0] for k in range(number + 1, count) if placed[k]), len(original))
        if not placed[number]:
            before = next((ends[k][1] for k in range(number - 1, -1, -1) if placed[k]), None)
            if not segment.open_before and number == 0:
                at = 0
            elif before is not None and draft.elided:
                at = _end_of_level(original, draft, number, before, limit)
            else:
                at = before if before is not None else limit
            ends[number] = (at, at)
            continue
        if high == len(original) and not segment.open_after:
            kept_from = _kept_tail(original, draft, placement, number)
            if kept_from < high:
                ends[number] = (low, kept_from)
                confidences[number] *= 0.6
            continue
        extended = min(_block_limit(original, draft, placement, number), limit)
        if extended > high:
            ends[number] = (low, extended)
            confidences[number] *= 0.85
    return ends


def _end_of_level(original: Lines, draft: Draft, number: int, start: int, limit: int) -> int:
    """Where, from `start` on, the lines end that are indented at least as deep as the segment."""
    segment = draft.segments[number]
    depths = [draft.snippet.indents[index] for index in range(segment.start, segment.end)]
    lowest = min((depth for depth in depths if depth is not None), default=0)
    return min(_level_end(original, start, lowest), limit)


def _level_end(original: Lines, start: int, depth: int) -> int:
    """Just after the last of the lines from `start` on that are indented at least `depth`.

    The file's end when all are.
    """
    end = start
    for index in range(start, len(original)):
        indent = original.indents[index]
        if indent is None:
            continue
        if indent < depth:
            return end
        end = index + 1
    return len(original)


def _kept_tail(original: Lines, draft: Draft, placement: Placement, number: int) -> int:
    """Where the file's end that the last segment may not delete begins: what lies outside the block it is in."""
    segment, snippet = draft.segments[number], draft.snippet
    filled = [index for index in range(segment.start, segment.end) if snippet.stripped[index]]
    last = max((index for index in filled if placement.matches[index] >= 0), default=None)
    trailing = [snippet.indents[index] or 0 for index in filled if last is None or index > last]
    if last is None or not trailing:
        return len(original)
    return _level_end(original, placement.matches[last] + 1, min(trailing))


def _block_limit(original: Lines, draft: Draft, placement: Placement, number: int) -> int:
    """How far a segment that rewrites a block reaches: to the end of that block, where nothing says that it stays."""
    segment, snippet = draft.segments[number], draft.snippet
    _, high = placement.ends[number] or (0, 0)
    last = max(
        (i for i in range(segment.start, segment.end) if placement.matches[i] >= 0 and snippet.stripped[i]),
        default=None,
    )
    if last is None:
        return high
    if not draft.elided:
        head = head_line(snippet, segment, placement.matches)
        if head is None or definition_name(snippet.stripped[head]) is None or not block_within(snippet, segment, head):
            return high
        return block_end(original, placement.matches[head])
    if placement.matches[segment.end - 1] >= 0:
        return high
    trailing = [i for i in range(last + 1, segment.end) if snippet.stripped[i]]
    depth, opener = draft.indents_after[number], snippet.indents[last]
    # An elision indented deeper than the block's head stands for more lines of the block.
    if not trailing or depth is None or opener is None or opener != depth:
        return high
    if any((snippet.indents[i] or 0) <= opener or definition_name(snippet.stripped[i]) for i in trailing[:1]):
        return high
    end = block_end(original, placement.matches[last])
    return end if end - high <= 3 * len(trailing) + 10 else high


@dataclass(slots=True)
class _Piece:
    """The original's lines [start, end) become `items`: lines, each with the original line that it is (-1: new)."""

    start: int
    end: int
    items: list[tuple[str, int]]


def _items(original: Lines, pieces: Sequence[_Piece]) -> list[tuple[str, int]]:
    """All of the predicted lines, each with the original line that it is (-1: new)."""
    items: list[tuple[str, int]] = []
    position = 0
    for piece in [*pieces, _Piece(len(original), len(original), [])]:
        items.extend((original.contents[k], k) for k in range(position, piece.start))
        items.extend(piece.items)
        position = piece.end
    return items


def _pieces(
    original: Lines,
    draft: Draft,
    placement: Placement,
    ends: Sequence[tuple[int, int]],
    placed: Sequence[bool],
    confidences: Sequence[float],
) -> tuple[list[_Piece], list[float]]:
    """What the segments put where, with lines that stay between any two pieces; and how sure each position is."""
    snippet = draft.snippet
    pieces: list[_Piece] = []
    sure = [1.0] * (len(original) + 1)
    position = 0
    for number, (segment, (low, high)) in enumerate(zip(draft.segments, ends, strict=True)):
        low, high = max(low, position), max(high, position)
        if not pieces or low > position:
            pieces.append(_Piece(low, high, []))
        items = pieces[-1].items
        pieces[-1].end = high
        for k in range(low, high + 1):
            sure[k] = min(sure[k], confidences[number])
        start, end = segment.start, segment.end
        if placed[number]:
            while start < end and placement.matches[start] == STRAY:
                start += 1
            while end > start and placement.matches[end - 1] == STRAY:
                end -= 1
        elif not draft.elided and low > 0:
            items.extend(("", -1) for _ in range(draft.blanks[number]))
        for index in range(start, end):
            match = placement.matches[index]
            same = low <= match < high and original.contents[match] == snippet.contents[index]
            items.append((snippet.contents[index], match if same else -1))
        if not placed[number] and not draft.elided and low == 0 and number + 1 < len(draft.segments):
            items.extend(("", -1) for _ in range(draft.blanks[number + 1]))
        position = high
    return pieces, sure


def _apply_removal(
    original: Lines,
    draft: Draft,
    placement: Placement,
    ends: Sequence[tuple[int, int]],
    items: list[tuple[str, int]],
    removal: Removal,
) -> tuple[list[tuple[str, int]], bool]:
    """Do what a removal comment says where it is plain. False: it named code that was not found."""
    if removal.line is not None:
        match = placement.matches[removal.line]
        return (_without(items, match, block_end(original, match)), True) if match >= 0 else (items, False)
    following = removal.before
    inside = any(segment.start <= following < segment.end for segment in draft.segments)
    if removal.name is None:
        match = placement.matches[following] if inside else -1
        if match >= 0 and definition_name(original.stripped[match]) is not None:
            return _without(items, match, _with_blanks(original, match, block_end(original, match))), True
        return items, True
    low = max((ends[k][1] for k in range(removal.segment) if k < len(ends)), default=0)
    high = min((ends[k][0] for k in range(removal.segment, len(ends))), default=len(original))
    if inside:
        low, high = ends[removal.segment]
    present = {origin for _, origin in items}
    named = [k for k in range(low, high) if _defines(original, k, removal.name)]
    if inside and not any(k in present for k in named):
        # The context on both sides has it deleted already.
        return items, True
    return _remove_named(original, items, removal.name, low, high)


def _remove_named(
    original: Lines, items: list[tuple[str, int]], name: str | None, low: int, high: int
) -> tuple[list[tuple[str, int]], bool]:
    heads = [k for k in range(low, high) if name is not None and _defines(original, k, name)]
    if len(heads) != 1:
        return items, False
    return _without(items, heads[0], _with_blanks(original, heads[0], block_end(original, heads[0]))), True


def _defines(original: Lines, index: int, name: str) -> bool:
    return definition_name(original.stripped[index]) == base_name(name)


def _with_blanks(original: Lines, start: int, end: int) -> int:
    """The end of a block with the blank lines after it, unless no block follows that they would separate."""
    until = end
    while until < len(original) and not original.stripped[until]:
        until += 1
    blank_before = start == 0 or not original.stripped[start - 1]
    return until if blank_before else end


def _without(items: list[tuple[str, int]], low: int, high: int) -> list[tuple[str, int]]:
    """The items without those from the original's lines [low, high), and without new ones in between."""
    inside = [index for index, (_, origin) in enumerate(items) if low <= origin < high]
    return items[: inside[0]] + items[inside[-1] + 1 :] if inside else items


def _changes(items: Sequence[tuple[str, int]], sure: Sequence[float], start: int, end: int) -> list[Change]:
    """What changes where the original's lines [start, end) become `items`."""
    changes: list[Change] = []
    position = start
    pending: list[str] = []
    for line, origin in [*items, ("", end)]:
        if origin < 0:
            pending.append(line)
            continue
        if origin > position or pending:
            changes.append(Change(position, origin, tuple(pending), min(sure[position : origin + 1])))
        position, pending = origin + 1, []
    return changes
