"""Where the segments of a snippet lie in the original: the best chain of candidates, one a segment, in order.

Segments that context alone settles are placed first; the others are looked for between those. A chain may leave a
segment without a place. For each segment the chain also says by how much it beats the best chain that gives another
text: that margin is what the confidence is read from.
"""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drafts.align.candidates import Candidate, Enumeration, Segment, fit, pairs, scored, share
from drafts.align.chain import Chain
from drafts.align.evidence import IMPLIED, NO_ELISION, Evidence, changed, score
from drafts.align.habit import habit_of
from drafts.align.indentation import definition_name
from drafts.align.lines import longest_increasing, matching_blocks
from drafts.align.similar import Similar

_DOUBT = 5.0
"""Candidates this much worse than the best by context are left out when structure is weighed."""
_CONSIDERED = 40
"""Candidates of a segment whose structure is weighed."""
_SETTLED = 6.0
"""The score of a segment that context alone settles."""
_TELLING = 3
"""So many equal lines tell a place by themselves."""
_CROWD = 12
_CLEAR = 3.0
"""A segment that beats its rivals by this much is clear: others are looked for around it."""
_RIVALLED = 0.5
"""The margin of a segment that changes nothing, but might as well be the context of a deletion."""
_RIVALS = 4096
_GONE = 40
"""Lines, and as many more for each line shown, that such a deletion has at most."""
_HABITUAL = 2
"""So many segments may have a habit."""


NEW, STRAY = -1, -2


@dataclass(frozen=True, slots=True)
class Placement:
    """Where each line and each segment of a snippet went.

    matches[i]: the original line that snippet line i stands for, NEW, or STRAY for a blank line that only sets off an
    elision. ends: for each segment, the original's lines [low, high) it covers; None without a place. margins: for each
    segment, the log-odds of the placement against all that put another text there.
    """

    matches: list[int]
    ends: list[tuple[int, int] | None]
    margins: list[float]


def place(
    segments: Sequence[Segment], evidence: Evidence, *, same_name: float = 1.0, must_change: bool = False
) -> Placement:
    """The best placement of a snippet's segments, given what is known of both texts.

    same_name: how much a line that defines a name resembles the original's definition of it; other lines, at most 1.
    must_change: the segments are all there is to the edit, so that one of them changes something.
    """
    similar = Similar(evidence.original, evidence.snippet, evidence.words, same_name)
    return _Placing(segments, evidence, similar, must_change).solve()


class _Placing:
    def __init__(self, segments: Sequence[Segment], evidence: Evidence, similar: Similar, must_change: bool) -> None:
        self.original, self.snippet, self.segments = evidence.original, evidence.snippet, segments
        self.evidence, self.similar, self.must_change = evidence, similar, must_change
        self._enumerated: dict[tuple[int, tuple[int, int], bool], list[Candidate]] = {}

    def solve(self) -> Placement:
        choices = self._choices(self._settled(), changing=False)
        chosen, margins = self._best(choices)
        if max(map(len, choices)) >= _CROWD:
            # Many places look alike; what is clear by now says between which ones to look.
            clear = {n: c for n, c in enumerate(chosen) if c is not None and margins[n] >= _CLEAR}
            narrowed = self._choices(clear, changing=False)
            if narrowed != choices:
                choices = narrowed
                chosen, margins = self._best(choices)
        if self.must_change and all(
            found is not None and self._keeps(number, found) for number, found in enumerate(chosen)
        ):
            # An edit that changes nothing is none: something between its lines goes.
            choices = self._choices({}, changing=True)
            chosen, margins = self._best(choices)
        chosen, margins = self._by_habit(choices, chosen, margins)
        margins = [
            min(margin, _RIVALLED) if found is not None and self._may_delete(number, found) else margin
            for number, (found, margin) in enumerate(zip(chosen, margins, strict=True))
        ]
        matches = [NEW] * len(self.snippet)
        for segment, found in zip(self.segments, chosen, strict=True):
            if found is not None:
                self._match(segment, found, matches)
        return Placement(matches, [None if found is None else (found.low, found.high) for found in chosen], margins)

    def _best(self, choices: list[list[Candidate]]) -> tuple[list[Candidate | None], list[float]]:
        chain = Chain(choices)
        chosen = chain.best()
        margins = [
            chain.margin(number, found, lambda one, other, n=number: self._same(n, one, other))  # type: ignore[misc]
            for number, found in enumerate(chosen)
        ]
        return chosen, margins

    def _may_delete(self, number: int, candidate: Candidate) -> bool:
        """The segment changes nothing where it is, and would be just the context of a deletion elsewhere."""
        if not self._keeps(number, candidate):
            return False
        segment = self.segments[number]
        size = segment.end - segment.start
        heads, tails = (self._reach(segment, step) for step in (1, -1))
        if size < 2 or not (segment.open_before and segment.open_after) or len(heads) * len(tails) > _RIVALS:
            return False
        least = max(size // 2, _TELLING)
        return any(
            size < tail - head <= 4 * size + _GONE and before + after >= size and min(before, after) >= least
            for head, before in heads
            for tail, after in tails
        )

    def _reach(self, segment: Segment, step: int) -> list[tuple[int, int]]:
        """Boundaries where the segment may begin (step 1) or end (-1), and how many lines from there on are equal."""
        index, outside = (segment.start, 0) if step > 0 else (segment.end - 1, 1)
        size = segment.end - segment.start
        places = self.original.positions.get(self.snippet.stripped[index], ())
        runs = ((at, self._run(at, index, step, size)) for at in places)
        return [(at + outside, run) for at, run in runs if run]

    def _by_habit(
        self, choices: list[list[Candidate]], chosen: list[Candidate | None], margins: list[float]
    ) -> tuple[list[Candidate | None], list[float]]:
        """The best choices in the light of how much context the clear segments show."""
        if len(self.segments) < _HABITUAL:
            return chosen, margins
        clear = [
            (segment, found)
            for segment, found, margin in zip(self.segments, chosen, margins, strict=True)
            if found is not None and margin >= _CLEAR
        ]
        habit = habit_of(clear)
        if habit is None:
            return chosen, margins
        return self._best(
            [
                [scored(each, each.score + habit.judged(segment, each)) for each in candidates]
                for segment, candidates in zip(self.segments, choices, strict=True)
            ]
        )

    def _keeps(self, number: int, candidate: Candidate) -> bool:
        low, high, first, last = changed(self.segments[number], candidate)
        return low == high and first == last

    def _choices(self, settled: dict[int, Candidate], *, changing: bool) -> list[list[Candidate]]:
        """The candidates of each segment; those of a settled segment are one."""
        order = longest_increasing([(found.low, number) for number, found in settled.items()])
        settled = {number: settled[number] for _, number in order}
        numbers = sorted(settled)
        choices: list[list[Candidate]] = []
        low = 0
        for number in range(len(self.segments)):
            found = settled.get(number)
            if found is not None:
                choices.append([found])
                low = found.high
                continue
            after = next((k for k in numbers if k > number), None)
            high = len(self.original) if after is None else settled[after].low
            choices.append(self._candidates(number, (low, max(low, high)), changing=changing))
        return choices

    def _settled(self) -> dict[int, Candidate]:
        """The segments whose ends are told by lines that stand together in one place only, with what they change."""
        found: dict[int, Candidate] = {}
        last_high = 0
        none_changes = all(segment.may_be_unchanged for segment in self.segments)
        for number, segment in enumerate(self.segments):
            ends = self._told(segment)
            if ends is None or ends[0] < last_high:
                continue
            head, tail = ends
            room = min(tail - head, segment.end - segment.start)
            runs = self._run(head, segment.start, 1, room), self._run(tail - 1, segment.end - 1, -1, room)
            candidate = Candidate(head, tail, *share(*runs, room), score=_SETTLED)
            low, high, first, last = changed(segment, candidate)
            # Where others change something, few lines may as well be made what stands elsewhere.
            shows = segment.may_be_unchanged and (tail - head >= 2 * _TELLING or none_changes)
            if (high > low or last > first or shows) and high - low <= 2 * (last - first) + 4:
                found[number] = candidate
                last_high = tail
        return found

    def _told(self, segment: Segment) -> tuple[int, int] | None:
        """The only lines [low, high) of the original that the lines at both ends of a segment tell."""
        size = segment.end - segment.start
        if size >= 2 * _TELLING and segment.may_be_unchanged and segment.open_before and segment.open_after:
            whole = self.original.places(self.snippet.contents[segment.start : segment.end])
            if len(whole) == 1:
                return whole[0], whole[0] + size
        heads, tails = self._edges(segment, 1), self._edges(segment, -1)
        if not segment.open_before:
            heads = [0] if self._equal(0, segment.start) else []
        if not segment.open_after:
            tails = [len(self.original)] if self._equal(len(self.original) - 1, segment.end - 1) else []
        if len(heads) == len(tails) == 1:
            return (heads[0], tails[0]) if heads[0] <= tails[0] else None
        reach = 4 * size + 8
        found: tuple[int, int] | None = None
        for head in heads:
            for tail in tails[bisect_left(tails, head) : bisect_right(tails, head + reach)]:
                if found is not None:
                    return None
                found = head, tail
        return found

    def _edges(self, segment: Segment, step: int) -> list[int]:
        """The boundaries that the segment may begin (step -1: end) at, where its lines there tell a place.

        The outermost one does when it stands there only, and so do a few together.
        """
        edge = segment.start if step > 0 else segment.end - 1
        size = 1 if len(self.original.positions.get(self.snippet.stripped[edge], ())) == 1 else _TELLING
        start = segment.start if step > 0 else segment.end - size
        if size > segment.end - segment.start:
            return []
        places = self.original.places(self.snippet.contents[start : start + size])
        return places if step > 0 else [at + size for at in places]

    def _equal(self, at: int, index: int) -> bool:
        return 0 <= at < len(self.original) and self.original.contents[at] == self.snippet.contents[index]

    def _run(self, at: int, index: int, step: int, limit: int) -> int:
        run = 0
        while run < limit and self._equal(at + step * run, index + step * run):
            run += 1
        return run

    def _candidates(self, number: int, window: tuple[int, int], *, changing: bool) -> list[Candidate]:
        key = (number, window, changing)
        found = self._enumerated.get(key)
        if found is None:
            found = self._enumerated[key] = self._enumerate(number, window, changing=changing)
        return found

    def _enumerate(self, number: int, window: tuple[int, int], *, changing: bool) -> list[Candidate]:
        segment = self.segments[number]
        enumeration = Enumeration(self.original, self.snippet, segment, window, self.similar, self.evidence.lead_of)
        heads, tails = enumeration.heads(), enumeration.tails()
        near = self.evidence.nearness(segment) if len(heads) * len(tails) > _CONSIDERED else None
        found: list[tuple[float, float, Candidate]] = []
        for head, tail in pairs(heads, tails, near):
            fitted = fit(enumeration, heads[head], tails[tail])
            if fitted is None:
                continue
            candidate, context = fitted
            if changing and self._keeps(number, candidate):
                continue
            base = score(self.evidence.base(segment, candidate, context)) + self._at_edges(number, candidate)
            rank = base if near is None else base + max(near[candidate.low], near[candidate.high])
            found.append((rank, base, candidate))
        found.sort(key=lambda item: (-item[0], item[2].low, item[2].high))
        return [
            scored(candidate, base + self.evidence.judged(segment, candidate))
            for rank, base, candidate in found[:_CONSIDERED]
            if rank >= found[0][0] - _DOUBT
        ]

    def _at_edges(self, number: int, candidate: Candidate) -> float:
        """What the file's ends say: a written elision passes over something, an unwritten one over nothing."""
        total = 0.0
        segment, size = self.segments[number], len(self.original)
        if number == 0 and segment.open_before == (candidate.low == 0):
            total -= NO_ELISION if segment.open_before else IMPLIED
        if number == len(self.segments) - 1 and segment.open_after == (candidate.high == size):
            total -= NO_ELISION if segment.open_after else IMPLIED
        return total

    def _same(self, number: int, one: Candidate, other: Candidate) -> bool:
        """Both put the same text there."""
        low, high = min(one.low, other.low), max(one.high, other.high)
        if self._size(number, one) - (one.high - one.low) != self._size(number, other) - (other.high - other.low):
            return False
        return all(map(operator.eq, self._text(number, one, low, high), self._text(number, other, low, high)))

    def _size(self, number: int, candidate: Candidate) -> int:
        """The lines that the segment puts there."""
        segment = self.segments[number]
        return segment.end - segment.start - candidate.skip_head - candidate.skip_tail

    def _text(self, number: int, candidate: Candidate, low: int, high: int) -> Iterator[str]:
        """Line by line: places may lie far apart, and mostly differ soon."""
        segment, old = self.segments[number], self.original.contents
        lines = self.snippet.contents[segment.start + candidate.skip_head : segment.end - candidate.skip_tail]
        before, after = range(low, candidate.low), range(candidate.high, high)
        return itertools.chain(map(old.__getitem__, before), lines, map(old.__getitem__, after))

    def _match(self, segment: Segment, candidate: Candidate, matches: list[int]) -> None:
        low, high, first, last = changed(segment, candidate)
        begin = segment.start + candidate.skip_head
        for index in (*range(segment.start, begin), *range(segment.end - candidate.skip_tail, segment.end)):
            matches[index] = STRAY
        matches[begin:first] = range(candidate.low, low)
        matches[last : last + candidate.tail] = range(high, candidate.high)
        old, new = self.original.stripped, self.snippet.stripped
        position = low
        for start, begins, size in [*matching_blocks(old[low:high], new[first:last]), (high - low, last - first, 0)]:
            for index in range(first, first + begins):
                if matches[index] >= 0:
                    continue
                near = (at for at, _ in self._counterparts(index) if position <= at < low + start)
                at = next(near, -1)
                if at >= 0:
                    matches[index], position = at, at + 1
            matches[first + begins : first + begins + size] = range(low + start, low + start + size)
            position = low + start + size

    def _counterparts(self, index: int) -> Sequence[tuple[int, float]]:
        """The lines that a definition's changed head stands for; of other lines nobody asks."""
        return self.similar.lines(index) if definition_name(self.snippet.stripped[index]) is not None else ()
