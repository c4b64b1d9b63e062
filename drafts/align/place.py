"""Where the segments of a snippet lie in the original: one dynamic programme over snippet lines, in numpy.

A state is a position between lines of the original. A snippet line either matches the next line (and scores its
weight) or is new; within a segment, lines of the original may be passed over as deleted, at a cost; an elision passes
over any number for nothing. The table has snippet lines x original lines cells, filled row by row with vector
operations, so it is linear in the original for a snippet of given size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drafts.align.lines import Lines

FloatArray = npt.NDArray[np.float32]

INSERT_COST = 0.12
EDGE_BONUS = 0.45
LOOSE_FACTOR = 0.6
# Deleting L lines costs the cheaper of open + L * each: short deletions are likely, long ones not much less.
GAP_COSTS = ((0.25, 0.12), (0.9, 0.006))
EMPTY_ELISION_COST = 0.3
IMPLIED_ELISION_COST = 0.6


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive snippet lines [start, end) with no elision between them.

    open_before, open_after: an elision stands there, so lines of the original may be kept there for nothing.
    """

    start: int
    end: int
    open_before: bool
    open_after: bool


@dataclass(frozen=True, slots=True)
class Placement:
    """matches[i]: the original line that snippet line i stands for, or -1. at[i]: the lines before it that are used up.

    ends: for each segment, the original's lines [low, high) it covers.
    """

    matches: list[int]
    at: list[int]
    ends: list[tuple[int, int]]
    score: float


def place(
    original: Lines,
    snippet: Lines,
    segments: Sequence[Segment],
    similar: Mapping[int, Sequence[tuple[int, float]]] | None = None,
) -> Placement:
    """The best placement. similar: for some snippet lines, original lines they may replace, and how alike (0 to 1)."""
    return _Table(original, snippet, segments, similar or {}).solve()


class _Table:
    def __init__(
        self,
        original: Lines,
        snippet: Lines,
        segments: Sequence[Segment],
        similar: Mapping[int, Sequence[tuple[int, float]]],
    ) -> None:
        self.original, self.snippet, self.segments, self.similar = original, snippet, segments, similar
        self.size = len(original)
        self.steps = np.arange(self.size + 1, dtype=np.float32)
        self.ramps = [(cost + each * self.steps, each * self.steps) for cost, each in GAP_COSTS]

    def solve(self) -> Placement:
        row = np.full(self.size + 1, -np.inf, dtype=np.float32)
        row[0] = 0.0
        before_lines: dict[int, tuple[FloatArray, FloatArray]] = {}
        before_elisions: list[FloatArray] = []
        for segment in self.segments:
            before_elisions.append(row)
            row = self._elide(row, segment.open_before)
            for index in range(segment.start, segment.end):
                direct = self._line(row, index, segment)
                before_lines[index] = (row, direct)
                row = self._with_gaps(direct)
        before_elisions.append(row)
        row = self._elide(row, self.segments[-1].open_after)
        return self._trace(row, before_lines, before_elisions)

    def _elide(self, row: FloatArray, is_open: bool) -> FloatArray:
        """Skip lines that stay. Where no elision is written, skipping costs; where one is, not skipping does."""
        passed: FloatArray = np.maximum.accumulate(row)
        passed[1:] = passed[:-1]
        passed[0] = -np.inf
        if is_open:
            return np.maximum(row - np.float32(EMPTY_ELISION_COST), passed)
        return np.maximum(row, passed - np.float32(IMPLIED_ELISION_COST))

    def _candidates(self, index: int, segment: Segment) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """Original lines that snippet line `index` may stand for, and what each scores."""
        text = self.snippet.contents[index]
        stripped = self.snippet.stripped[index]
        where = self.original.positions.get(stripped)
        edge = (segment.open_before and index == segment.start) or (segment.open_after and index == segment.end - 1)
        if where is None:
            pairs = self.similar.get(index, ())
            positions = np.array([position for position, _ in pairs], dtype=np.intp)
            return positions, np.array([0.5 * alike for _, alike in pairs], dtype=np.float32)
        weight = self.original.weights[stripped]
        exact = np.fromiter((self.original.contents[j] == text for j in where), dtype=bool, count=len(where))
        scores = np.where(exact, weight, weight * LOOSE_FACTOR) + (EDGE_BONUS if edge else 0.0)
        return where, scores.astype(np.float32)

    def _line(self, row: FloatArray, index: int, segment: Segment) -> FloatArray:
        direct = row - np.float32(INSERT_COST)
        where, scores = self._candidates(index, segment)
        if len(where):
            direct[where + 1] = np.maximum(direct[where + 1], row[where] + scores)
        return direct

    def _with_gaps(self, direct: FloatArray) -> FloatArray:
        best = direct
        for ramp_with_open, ramp in self.ramps:
            best = np.maximum(best, np.maximum.accumulate(direct + ramp) - ramp_with_open)
        return best

    def _trace(
        self,
        last: FloatArray,
        before_lines: Mapping[int, tuple[FloatArray, FloatArray]],
        before_elisions: Sequence[FloatArray],
    ) -> Placement:
        count = len(self.snippet)
        matches, at = [-1] * count, [0] * count
        ends: list[tuple[int, int]] = []
        position = self.size
        score = float(last[position])
        position = self._source(before_elisions[-1], last, position, self.segments[-1].open_after)
        for number in range(len(self.segments) - 1, -1, -1):
            segment = self.segments[number]
            high = position
            for index in range(segment.end - 1, segment.start - 1, -1):
                row, direct = before_lines[index]
                position = self._gap_source(direct, position)
                where, scores = self._candidates(index, segment)
                slot = int(np.searchsorted(where, position - 1)) if len(where) and position else len(where)
                if (
                    slot < len(where)
                    and where[slot] == position - 1
                    and row[position - 1] + scores[slot] == direct[position]
                ):
                    position -= 1
                    matches[index] = position
                at[index] = position
            ends.append((position, high))
            position = self._source(before_elisions[number], None, position, segment.open_before)
        return Placement(matches, at, ends[::-1], score)

    def _gap_source(self, direct: FloatArray, position: int) -> int:
        """Where the deletion that ends at `position` began; `position` when there is none."""
        best, source = direct[position], position
        for ramp_with_open, ramp in self.ramps:
            reached = direct[:position] + ramp[:position]
            if len(reached):
                value = reached.max() - ramp_with_open[position]
                if value > best:
                    best, source = value, int(reached.argmax())
        return source

    def _source(self, row: FloatArray, _after: FloatArray | None, position: int, is_open: bool) -> int:
        """Where the lines that stay, up to `position`, begin."""
        if position == 0:
            return 0
        earlier = int(row[:position].argmax())
        stay = row[position] - np.float32(EMPTY_ELISION_COST) if is_open else row[position]
        skip = row[earlier] if is_open else row[earlier] - np.float32(IMPLIED_ELISION_COST)
        return earlier if skip >= stay else position
