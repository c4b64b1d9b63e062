"""How sure a placement is, from what a caller can check: is the context there, and is it there only once."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from drafts.align.lines import Lines
from drafts.align.locate import find_all
from drafts.align.place import Placement
from drafts.align.segments import Draft


class _Context(enum.IntEnum):
    """What stands at one end of a segment."""

    NONE = 0
    REPEATED = 1
    """Lines that the original has in several places."""
    UNIQUE = 2


# The share of segments that are placed right, by the context at their two ends (the poorer first). Measured on real
# edits rendered with 3 lines of context and with 1.
_RIGHT = {
    (_Context.UNIQUE, _Context.UNIQUE): 0.99,
    (_Context.REPEATED, _Context.UNIQUE): 0.96,
    (_Context.REPEATED, _Context.REPEATED): 0.6,
    (_Context.NONE, _Context.UNIQUE): 0.75,
    (_Context.NONE, _Context.REPEATED): 0.5,
    (_Context.NONE, _Context.NONE): 0.4,
}
_UNPLACED = 0.2


def segment_confidences(original: Lines, draft: Draft, placement: Placement, placed: Sequence[bool]) -> list[float]:
    """For each segment, about the probability that its place is right."""
    return [
        _confidence(original, draft, placement, number) if is_placed else _without_place(draft, placed, number)
        for number, is_placed in enumerate(placed)
    ]


def _without_place(draft: Draft, placed: Sequence[bool], number: int) -> float:
    segment = draft.segments[number]
    at_end = draft.elided and (not segment.open_before or not segment.open_after)
    if at_end:
        return 0.6
    # New code after a known place goes to the end of that block: a fair guess.
    return 0.5 if number and placed[number - 1] else _UNPLACED


def context_kinds(original: Lines, draft: Draft, placement: Placement, number: int) -> tuple[_Context, _Context]:
    """The context before and after the change of a placed segment."""
    segment = draft.segments[number]
    low, high = placement.ends[number]
    head = _run(original, draft.snippet, placement, range(segment.start, segment.end))
    tail = _run(original, draft.snippet, placement, range(segment.end - 1, segment.start - 1, -1))[::-1]
    before = _kind(original, draft.snippet, head, at_end=not low and not segment.open_before)
    after = _kind(original, draft.snippet, tail, at_end=high == len(original) and not segment.open_after)
    return before, after


def _confidence(original: Lines, draft: Draft, placement: Placement, number: int) -> float:
    before, after = context_kinds(original, draft, placement, number)
    return _RIGHT[min(before, after), max(before, after)]


def _kind(original: Lines, snippet: Lines, run: Sequence[int], *, at_end: bool) -> _Context:
    if at_end:
        return _Context.UNIQUE
    if not run:
        return _Context.NONE
    places = find_all(original, [snippet.contents[index] for index in run])
    return _Context.UNIQUE if len(places) == 1 else _Context.REPEATED


def _run(original: Lines, snippet: Lines, placement: Placement, order: range) -> list[int]:
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
