"""How sure the place of each segment is: read off by how much it beats every other place."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drafts.align.place import NEW, STRAY, Placement
from drafts.align.segments import Draft

_CEILING = 0.99
"""Even a place that nothing rivals may be the wrong one: code moves, and edits say less than they mean."""
_NO_CONTEXT = 0.8
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
    """Where an end beside an elision has no line of context there is only resemblance: the odds know no more than that.

    They know nothing of elisions that were forgotten.
    """
    segment, matches = draft.segments[number], placement.matches
    if draft.cuts_off[number]:
        return _CUT_OFF
    shown = [match for match in matches[segment.start : segment.end] if match != STRAY]
    ends = [match for match, is_open in ((shown[0], segment.open_before), (shown[-1], segment.open_after)) if is_open]
    return _CEILING if NEW not in ends else _NO_CONTEXT


def _without_place(draft: Draft, placed: Sequence[bool], number: int) -> float:
    segment = draft.segments[number]
    if draft.elided and not (segment.open_before and segment.open_after):
        return _AT_END
    # New code after a known place goes to the end of that block: a fair guess.
    return _AFTER_A_PLACE if number and placed[number - 1] else _UNPLACED
