"""How sure the place of each segment is: read off by how much it beats every other place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from drafts.align.place import NEW, STRAY, Placement
from drafts.align.segments import Draft

_CEILING = 0.997
"""Even a place that nothing rivals may be the wrong one: code moves, and edits say less than they mean."""
_NO_CONTEXT = 0.8
"""At an end beside an elision without a line of context there is only resemblance."""
_BLANK = 0.95
"""Where blank lines are all of the context at an end, other blank lines may be meant."""
_CUT_OFF = 0.85
_AT_END = 0.6
_AFTER_A_PLACE = 0.5
_UNPLACED = 0.2


def segment_confidences(draft: Draft, placement: Placement, placed: Sequence[bool]) -> list[float]:
    """For each segment, about the probability that its place is right."""
    return [
        _ceiling(draft, placement, number) / (1.0 + math.exp(-placement.margins[number]))
        if is_placed
        else _without_place(draft, placed, number)
        for number, is_placed in enumerate(placed)
    ]


def _ceiling(draft: Draft, placement: Placement, number: int) -> float:
    """What the odds do not know: of elisions that were forgotten, and how little the context at an end may tell."""
    if draft.cuts_off[number]:
        return _CUT_OFF
    segment = draft.segments[number]
    lines = [k for k in range(segment.start, segment.end) if placement.matches[k] != STRAY]
    ends = ((segment.open_before, lines), (segment.open_after, lines[::-1]))
    return min((_told(draft, placement.matches, lines) for is_open, lines in ends if is_open), default=_CEILING)


def _told(draft: Draft, matches: Sequence[int], lines: Sequence[int]) -> float:
    """The ceiling by the context at one end beside an elision; lines: the segment's from there inwards."""
    if matches[lines[0]] == NEW:
        return _NO_CONTEXT
    for line, following in pairwise((*lines, lines[-1])):
        if draft.snippet.stripped[line]:
            return _CEILING
        if abs(matches[following] - matches[line]) != 1:
            break
    return _BLANK


def _without_place(draft: Draft, placed: Sequence[bool], number: int) -> float:
    segment = draft.segments[number]
    if draft.elided and not (segment.open_before and segment.open_after):
        return _AT_END
    # New code after a known place goes to the end of that block: a fair guess.
    return _AFTER_A_PLACE if number and placed[number - 1] else _UNPLACED
