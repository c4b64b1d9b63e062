"""How sure a placement is, from what a caller can check: is the context there, and is it there only once."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.align.lines import Lines
from drafts.align.locate import find_all
from drafts.align.place import Placement, Segment
from drafts.align.segments import Draft

# Measured on real edits rendered with 3 and 1 lines of context: the share of segments placed right, by how many
# places the context before and the context after a change could have.
_BOTH_UNIQUE = 0.99
_ONE_UNIQUE = 0.96
_NONE_UNIQUE = 0.75
_NO_CONTEXT = 0.6
_RESEMBLANCE = 0.4
_UNPLACED = 0.2


def segment_confidences(original: Lines, draft: Draft, placement: Placement, placed: Sequence[bool]) -> list[float]:
    """For each segment, about the probability that its place is right."""
    return [
        _confidence(original, draft, placement, number) if is_placed else _without_place(draft, number)
        for number, is_placed in enumerate(placed)
    ]


def _without_place(draft: Draft, number: int) -> float:
    segment = draft.segments[number]
    at_end = draft.elided and (not segment.open_before or not segment.open_after)
    return 0.6 if at_end else _UNPLACED


def _confidence(original: Lines, draft: Draft, placement: Placement, number: int) -> float:
    segment = draft.segments[number]
    head = _run(original, draft.snippet, placement, segment, range(segment.start, segment.end))
    tail = _run(original, draft.snippet, placement, segment, range(segment.end - 1, segment.start - 1, -1))[::-1]
    places = [_places(original, draft.snippet, run) for run in (head, tail) if run]
    if not placement.ends[number][0] and not segment.open_before:
        places.append(1)
    if placement.ends[number][1] == len(original) and not segment.open_after:
        places.append(1)
    unique = sum(1 for count in places if count == 1)
    if unique >= 2 or (unique and len(head) == segment.end - segment.start):
        return _BOTH_UNIQUE
    if not places:
        return _RESEMBLANCE
    if unique == 1:
        return _ONE_UNIQUE if len(places) == 2 else _NO_CONTEXT + 0.2
    return _NONE_UNIQUE if len(places) == 2 else _NO_CONTEXT


def _run(original: Lines, snippet: Lines, placement: Placement, segment: Segment, order: range) -> list[int]:
    """The segment's context at one end: lines that equal consecutive lines of the original."""
    run: list[int] = []
    step = order.step
    for index in order:
        match = placement.matches[index]
        if match < 0 or original.contents[match] != snippet.contents[index]:
            break
        if run and match != placement.matches[run[-1]] + step:
            break
        run.append(index)
    return run


def _places(original: Lines, snippet: Lines, run: Sequence[int]) -> int:
    return len(find_all(original, [snippet.contents[index] for index in run]))
