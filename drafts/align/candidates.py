"""Where one segment of a snippet may lie: ranges of the original whose ends agree with the segment's ends.

A segment that covers lines [low, high) of the original gives the same text however its lines are matched in between, so
a candidate is a pair of ends. Each end comes from the lines of the original that equal the segment's first or last
line, with the run of equal lines that follows inwards; from lines that a changed one resembles; or from lines inside
the segment, counted outwards. Pairs are formed of the best ends and of neighbours.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from drafts.align.lines import Lines
from drafts.align.similar import Similar

_BEST = 32
"""Ends that are paired with their neighbours and the best others."""
_NEAR = 3
_ENOUGH, _BEYOND = 1.0, 0.1
"""Context this telling is enough; more may as well be new code that repeats what stands there."""
_RARE = 8
"""A line inside the segment says where its ends are when it stands in no more places than this."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive snippet lines [start, end) with no elision between them.

    open_before, open_after: an elision stands there, so lines of the original may be kept there for nothing.
    may_be_unchanged: the segment only shows where the next one lies (a class head before "... existing code ..."), so
    changing nothing costs nothing.
    """

    start: int
    end: int
    open_before: bool
    open_after: bool
    may_be_unchanged: bool = False


class Candidate(NamedTuple):
    """The segment covers the original's lines [low, high).

    head, tail: how many lines at either end equal the original's. skip_head, skip_tail: blank lines beside an elision
    that only set it off, and stand for nothing. score: see `evidence.WEIGHTS`.
    """

    low: int
    high: int
    head: int
    tail: int
    skip_head: int = 0
    skip_tail: int = 0
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """ends: at how many ends of the segment lines equal the original's. head, tail: how much those tell.

    grounded: there are equal lines at both ends, or some that are not blank; otherwise ends is 0.
    """

    ends: float
    grounded: bool
    head: float
    tail: float


class _End(NamedTuple):
    """An end at boundary `at` of the original: `run` equal lines inwards, `skip` stray blanks outside, worth `gain`."""

    at: int
    run: int
    skip: int
    gain: float


class Enumeration:
    """The ends that a segment may have within lines [low, high) of the original."""

    def __init__(
        self,
        original: Lines,
        snippet: Lines,
        segment: Segment,
        window: tuple[int, int],
        similar: Similar,
        lead_of: Callable[[int], int],
    ) -> None:
        """lead_of: for the head of a definition, the line where what belongs to it begins."""
        self.lead_of = lead_of
        self.original, self.snippet, self.segment = original, snippet, segment
        self.window, self.similar = window, similar
        self.size = len(original)
        start, end = segment.start, segment.end
        filled = [index for index in range(start, end) if snippet.stripped[index]]
        self.first, self.last = (filled[0], filled[-1]) if filled else (start, end - 1)
        self.weights = self._prefix_weights()

    def _prefix_weights(self) -> list[float]:
        """weights[i]: what the segment's first i lines are worth together as context."""
        total = [0.0]
        for index in range(self.segment.start, self.segment.end):
            stripped = self.snippet.stripped[index]
            total.append(total[-1] + (self.original.weight(stripped) if stripped else 0.06))
        return total

    def context(self, start: int, end: int) -> float:
        """What snippet lines [start, end) are worth as context at one end: what goes beyond a few lines, little."""
        base = self.segment.start
        told = self.weights[end - base] - self.weights[start - base]
        return told if told <= _ENOUGH else _ENOUGH + _BEYOND * (told - _ENOUGH)

    def heads(self) -> list[_End]:
        """Ends before, ascending."""
        segment = self.segment
        found = {end.at: end for end in self._runs(segment.start, 1, 0)}
        if not found or (segment.open_before and self.first > segment.start):
            for end in self._runs(self.first, 1, self.first - segment.start):
                known = found.get(end.at)
                if known is None or known.run < end.run:
                    found[end.at] = end
        if not any(end.run for end in found.values()):
            for at in self._changed(self.first, 1):
                found.setdefault(at, _End(at, 0, 0, 0.0))
        if not segment.open_before:
            run = self._run_at(0, segment.start, 1)
            found[0] = _End(0, run, 0, 1.0 + self.context(segment.start, segment.start + run))
        return sorted(found.values(), key=lambda end: end.at)

    def tails(self) -> list[_End]:
        """Ends after, ascending."""
        segment = self.segment
        found = {end.at: end for end in self._runs(segment.end - 1, -1, 0)}
        if not found or (segment.open_after and self.last < segment.end - 1):
            for end in self._runs(self.last, -1, segment.end - 1 - self.last):
                known = found.get(end.at)
                if known is None or known.run < end.run:
                    found[end.at] = end
        if not any(end.run for end in found.values()):
            for at in self._changed(self.last, -1):
                found.setdefault(at, _End(at, 0, 0, 0.0))
        if not segment.open_after:
            size = len(self.original)
            run = self._run_at(size - 1, segment.end - 1, -1)
            found[size] = _End(size, run, 0, 1.0 + self.context(segment.end - run, segment.end))
        return sorted(found.values(), key=lambda end: end.at)

    def _runs(self, index: int, step: int, skip: int) -> Iterable[_End]:
        """Ends at the lines that equal snippet line `index`, looking inwards by `step`."""
        where = self.original.positions.get(self.snippet.stripped[index])
        if where is None:
            return
        low, high = self.window
        text, contents = self.snippet.contents[index], self.original.contents
        gains: dict[int, float] = {}
        for at in where[bisect_left(where, low) : bisect_left(where, high)]:
            if contents[at] != text:
                continue
            run = self._run_at(at, index, step)
            gain = gains.get(run)
            if gain is None:
                first = index if step > 0 else index + 1 - run
                gain = gains[run] = 1.0 + self.context(first, first + run)
            yield _End(at if step > 0 else at + 1, run, skip, gain)

    def _run_at(self, at: int, index: int, step: int) -> int:
        """How many lines of the original from `at` on equal the snippet's from `index` on."""
        low, high = self.window
        limit = (
            min(self.segment.end - index, high - at) if step > 0 else min(index + 1 - self.segment.start, at + 1 - low)
        )
        contents, lines = self.original.contents, self.snippet.contents
        run = 0
        while run < limit and contents[at + step * run] == lines[index + step * run]:
            run += 1
        return run

    def _changed(self, index: int, step: int) -> Iterable[int]:
        """Boundaries where a segment may begin (step 1) or end (-1) whose line `index` there is new or changed."""
        low, high = self.window
        segment, snippet = self.segment, self.snippet
        outside = 0 if step > 0 else 1
        places = [at for at, _ in self.similar.lines(index)]
        loose = self.original.positions.get(snippet.stripped[index])
        if loose is not None and len(loose) <= 4 * _RARE:
            places.extend(loose)
        yield from (at + outside for at in places if low <= at < high)
        inner = range(segment.start, segment.end) if step > 0 else range(segment.end - 1, segment.start - 1, -1)
        anchors = 0
        for other in inner:
            where = self.original.positions.get(snippet.stripped[other]) if snippet.stripped[other] else None
            candidates: list[int] = where or []
            if where is None:
                candidates = [at for at, _ in self.similar.lines(other)]
            if not candidates or len(candidates) > _RARE:
                continue
            for at in candidates:
                if low <= at < high:
                    # What comes outside of it is new, or replaces as many lines.
                    yield at + outside
                    if step > 0:
                        yield self.lead_of(at)
                    yield min(max(at - other + index, low), high - 1) + outside
            anchors += 1
            if anchors == 2:
                return


def pairs(heads: Sequence[_End], tails: Sequence[_End], near: Sequence[float] | None) -> set[tuple[int, int]]:
    """Indices of heads and tails that may belong together: neighbours of the best ends, and the best of all.

    near: what else speaks for each boundary.
    """
    best_heads = _best(heads, near)
    best_tails = _best(tails, near)
    head_at, tail_at = [end.at for end in heads], [end.at for end in tails]
    found: set[tuple[int, int]] = set()
    for head in best_heads:
        inside = bisect_left(tail_at, head_at[head])
        beyond = bisect_left(tail_at, head_at[head] + heads[head].run)
        for tail in {*range(inside, min(inside + _NEAR, len(tails))), *range(beyond, min(beyond + _NEAR, len(tails)))}:
            found.add((head, tail))
        found.update((head, tail) for tail in best_tails[: _BEST // 4] if tail_at[tail] >= head_at[head])
    for tail in best_tails:
        inside = bisect_left(head_at, tail_at[tail] + 1)
        beyond = bisect_left(head_at, tail_at[tail] - tails[tail].run + 1)
        for head in {*range(max(0, inside - _NEAR), inside), *range(max(0, beyond - _NEAR), beyond)}:
            found.add((head, tail))
        found.update((head, tail) for head in best_heads[: _BEST // 4] if tail_at[tail] >= head_at[head])
    return found


def _best(ends: Sequence[_End], near: Sequence[float] | None) -> list[int]:
    return heapq.nsmallest(
        _BEST, range(len(ends)), key=lambda k: -ends[k].gain - (0.0 if near is None else near[ends[k].at])
    )


def fit(enumeration: Enumeration, head: _End, tail: _End) -> tuple[Candidate, Context] | None:
    """The candidate of two ends, its runs cut so that they do not overlap, and its context."""
    segment = enumeration.segment
    length = tail.at - head.at
    size = segment.end - segment.start - head.skip - tail.skip
    if length < 0 or size < 0:
        return None
    before, after = share(head.run, tail.run, min(length, size))
    first, last = segment.start + head.skip, segment.end - tail.skip
    at_start, at_end = not segment.open_before and not head.at, not segment.open_after and tail.at == enumeration.size
    ends = float(bool(before) or at_start) + float(bool(after) or at_end)
    stripped = enumeration.snippet.stripped
    grounded = bool(before and after) or any(stripped[first : first + before]) or any(stripped[last - after : last])
    context = Context(
        ends if grounded else 0.0,
        grounded,
        enumeration.context(first, first + before),
        enumeration.context(last - after, last),
    )
    return Candidate(head.at, tail.at, before, after, head.skip, tail.skip), context


def share(head: int, tail: int, room: int) -> tuple[int, int]:
    """Runs at both ends that do not overlap: the text is the same either way, but both ends are told."""
    before = min(head, max(room - 1, 0) if tail else room)
    after = min(tail, room - before)
    return min(head, room - after), after


def scored(candidate: Candidate, score: float) -> Candidate:
    return candidate._replace(score=score)
