"""How much context a snippet's writer shows: a tool shows the same number of lines at each end of every change.

What the clear segments show tells whether it was one. If so, a place that would leave another one with more context
or less, or with nothing changed, is unlikely. Who writes freely shows what he likes, and nothing is learned.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from drafts.align.candidates import Candidate, Segment
from drafts.align.evidence import changed

_PRIOR = -3.0
"""Log-odds that a tool wrote the snippet, before any of it is seen."""
_AS_USUAL, _BY_CHANCE = 0.97, 0.45
"""How often an end shows the usual number of lines: a tool's, but for a line that the change repeats; and anyone's."""


@dataclass(frozen=True, slots=True)
class Habit:
    """lines: what is shown at an end as a rule. tool: the probability that it is shown always."""

    lines: int
    tool: float

    def judged(self, segment: Segment, candidate: Candidate) -> float:
        """What it counts, in nats, that a candidate shows what it does."""
        usual, unusual = _agreement(segment, candidate, self.lines)
        for_usual = math.log(self.tool * _AS_USUAL + (1.0 - self.tool) * _BY_CHANCE)
        for_unusual = math.log(self.tool * (1.0 - _AS_USUAL) + (1.0 - self.tool) * (1.0 - _BY_CHANCE))
        return usual * for_usual + unusual * for_unusual


def habit_of(clear: Iterable[tuple[Segment, Candidate]]) -> Habit | None:
    """What the segments whose places are clear show as a rule; None when they show nothing."""
    known = [each for each in clear if _changes(*each)]
    shown = Counter(lines for segment, candidate in known for lines in _shown(segment, candidate))
    if not shown:
        return None
    lines = max(shown, key=lambda each: (shown[each], each))
    odds = _PRIOR
    for segment, candidate in known:
        usual, unusual = _agreement(segment, candidate, lines)
        odds += usual * math.log(_AS_USUAL / _BY_CHANCE) + unusual * math.log((1.0 - _AS_USUAL) / (1.0 - _BY_CHANCE))
    return Habit(lines, 1.0 / (1.0 + math.exp(-odds)))


def _changes(segment: Segment, candidate: Candidate) -> bool:
    low, high, first, last = changed(segment, candidate)
    return low < high or first < last


def _shown(segment: Segment, candidate: Candidate) -> list[int]:
    """The lines of context at each end that an elision is beside."""
    low, high, first, last = changed(segment, candidate)
    before, after = candidate.head, candidate.tail
    if segment.open_before and segment.open_after and (low == high or first == last):
        # What only comes or only goes may slide over equal lines: both ends together show the same.
        before, after = (before + after) // 2, (before + after + 1) // 2
    return [lines for lines, is_open in ((before, segment.open_before), (after, segment.open_after)) if is_open]


def _agreement(segment: Segment, candidate: Candidate, lines: int) -> tuple[int, int]:
    """At how many ends a candidate shows so many lines, and at how many not. What changes nothing shows none."""
    if not _changes(segment, candidate):
        return 0, segment.open_before + segment.open_after
    shown = _shown(segment, candidate)
    usual = shown.count(lines)
    return usual, len(shown) - usual
