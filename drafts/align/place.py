"""Where the segments of a snippet lie in the original: one dynamic programme over snippet lines, in numpy.

A state is a position between lines of the original and one of three layers. A segment begins in its *head* (every line
so far equals the original's next), may go to its *body* (something was new, deleted or only resembled), and may end in
its *tail* (equal again, up to its last line). Lines that match in the head and the tail are context and count fully.
Matches in the body count little: whatever the body's own alignment, the segment's text replaces the same range, so the
body only says how likely that range is. A new line costs nearly nothing, deleted lines cost, and an elision passes over
any number of lines for nothing.

The table has snippet lines x original lines cells, filled row by row with vector operations: it is linear in the
original for a snippet of given size.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drafts.align.lines import Lines, matching_blocks

FloatArray = npt.NDArray[np.float32]
IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Costs:
    """What the programme charges and grants, in units of one unique context line.

    insert: (open, each line) of a run of new lines. deletes: (open, each line) of a run of deleted lines; the cheapest
    applies, so that long deletions are not much less likely than short ones. delete_blank: the same for blank lines
    only, which is rarer than deleting code. edge: a segment's first or last line is context. body: factor for matches
    in the body. loose: factor for lines that are equal but for blanks. similar: what a changed line gains that
    resembles the line it replaces. no_elision: a written elision that passes over nothing. implied: lines stay where no
    elision is written. unchanged: a segment that changes nothing. indent: a run of new lines begins where its
    neighbours have its indentation. blank: a blank context line that is not the segment's first or last.
    """

    insert: tuple[float, float] = (0.62, 0.004)
    deletes: tuple[tuple[float, float], ...] = ((0.2, 0.15), (0.9, 0.012))
    delete_blank: tuple[float, float] = (0.75, 0.16)
    edge: float = 1.0
    body: float = 0.2
    loose: float = 0.1
    similar: float = 0.2
    no_elision: float = 0.6
    implied: float = 2.4
    unchanged: float = 1.2
    indent: float = 0.012
    blank: float = -0.025


DEFAULT_COSTS = Costs()


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


@dataclass(frozen=True, slots=True)
class Placement:
    """matches[i]: the original line that snippet line i stands for, or -1.

    ends: for each segment, the original's lines [low, high) it covers.
    """

    matches: list[int]
    ends: list[tuple[int, int]]


def place(
    original: Lines,
    snippet: Lines,
    segments: Sequence[Segment],
    similar: Mapping[int, Sequence[tuple[int, float]]] | None = None,
    costs: Costs | None = None,
) -> Placement:
    """The best placement. similar: for some snippet lines, original lines they may replace, and how alike (about 1)."""
    if len(original) * len(snippet) > _LARGE:
        return _by_shared_lines(original, snippet, segments)
    return _Table(original, snippet, segments, similar or {}, costs or DEFAULT_COSTS).solve()


# Cells of the table, about 40 bytes each.
_LARGE = 6_000_000


def _by_shared_lines(original: Lines, snippet: Lines, segments: Sequence[Segment]) -> Placement:
    """A placement of large snippets in large files, in about linear time: by the lines that both have, in order."""
    matches = [-1] * len(snippet)
    for old, new, size in matching_blocks(original.contents, snippet.contents):
        matches[new : new + size] = range(old, old + size)
    ends: list[tuple[int, int]] = []
    position = 0
    for segment in segments:
        _slide(original, snippet, matches, segment)
        found = [match for match in matches[segment.start : segment.end] if match >= 0]
        low = found[0] if found else position
        position = found[-1] + 1 if found else position
        ends.append((low, position))
    return Placement(matches, ends)


class _Layer(enum.IntEnum):
    HEAD = 0
    BODY = 1
    NEW = 2
    """The body, inside a run of new lines."""
    TAIL = 3


@dataclass(frozen=True, slots=True)
class _Row:
    """Best scores by position between two snippet lines of a segment, by layer."""

    head: FloatArray
    body: FloatArray
    new: FloatArray
    tail: FloatArray


def _slide(original: Lines, snippet: Lines, matches: list[int], segment: Segment) -> None:
    """Move common lines at a segment's ends, matched across an elision, to where the rest of the segment is."""
    if segment.open_before:
        for index in range(segment.end - 2, segment.start - 1, -1):
            wanted = matches[index + 1] - 1
            if matches[index] < wanted and original.contents[wanted] == snippet.contents[index]:
                matches[index] = wanted
    if segment.open_after:
        for index in range(segment.start + 1, segment.end):
            wanted = matches[index - 1] + 1
            if 0 < wanted < matches[index] and original.contents[wanted] == snippet.contents[index]:
                matches[index] = wanted


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Original lines that a snippet line may stand for (ascending), and which of them are exactly equal.

    context, inner: what each match grants in the head or tail, and in the body.
    """

    where: IndexArray
    context: FloatArray
    inner: FloatArray
    exact: npt.NDArray[np.bool_]

    def slot(self, position: int) -> int | None:
        found = int(np.searchsorted(self.where, position))
        return found if found < len(self.where) and self.where[found] == position else None


_NEVER = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class _Deletion:
    """One way to charge a deletion up to p: start + ramp[p] - ramp[q], from any q <= last_start[p] (-1: none)."""

    start: np.float32
    ramp: FloatArray
    last_start: IndexArray


def _best_layer(*choices: tuple[np.float32, _Layer]) -> _Layer:
    """The layer of the highest score, the first of several."""
    return max(choices, key=lambda choice: choice[0])[1]


def _neighbour_indents(original: Lines) -> tuple[IndexArray, IndexArray]:
    """For each position, the indentation of the nearest filled line before it and after it; -1 at the ends."""
    before, after = [-1], [-1]
    for indent in original.indents:
        before.append(before[-1] if indent is None else indent)
    for indent in reversed(original.indents):
        after.append(after[-1] if indent is None else indent)
    return np.array(before, dtype=np.intp), np.array(after[::-1], dtype=np.intp)


class _Table:
    def __init__(
        self,
        original: Lines,
        snippet: Lines,
        segments: Sequence[Segment],
        similar: Mapping[int, Sequence[tuple[int, float]]],
        costs: Costs,
    ) -> None:
        self.original, self.snippet, self.segments = original, snippet, segments
        self.similar, self.costs = similar, costs
        self.size = len(original)
        steps = np.arange(self.size + 1, dtype=np.float32)
        filled = np.array([bool(line) for line in original.stripped], dtype=bool)
        # Before each position, the last position from which a deletion up to it takes a line that is not blank.
        with_text = np.zeros(self.size + 1, dtype=np.intp)
        with_text[1:] = np.maximum.accumulate(np.where(filled, np.arange(self.size), -1)) if self.size else 0
        with_text[0] = -1
        any_text = np.arange(-1, self.size, dtype=np.intp)
        self.deletions = [
            _Deletion(np.float32(start), np.float32(each) * steps, with_text) for start, each in costs.deletes
        ]
        start, each = costs.delete_blank
        self.deletions.append(_Deletion(np.float32(start), np.float32(each) * steps, any_text))
        self.indents = _neighbour_indents(original)
        self.exact: dict[str, npt.NDArray[np.bool_]] = {}
        self.by_indent: dict[int, FloatArray] = {}
        self.candidates: dict[int, _Candidates] = {}
        # Before each snippet line; after each, the body before deletions were tried; and each segment's end.
        self.rows: dict[int, _Row] = {}
        self.undeleted: dict[int, FloatArray] = {}
        self.finals: list[_Row] = []
        # Before each elision: one before each segment, one at the end.
        self.outer: list[FloatArray] = []

    def solve(self) -> Placement:
        outer = np.full(self.size + 1, _NEVER, dtype=np.float32)
        outer[0] = 0.0
        for segment in self.segments:
            self.outer.append(outer)
            entry = self._elide(outer, segment.open_before)
            never = np.full_like(entry, _NEVER)
            row = _Row(entry, never, never, never)
            for index in range(segment.start, segment.end):
                row = self._advance(row, index, segment)
            if segment.open_after:
                # Lines before an elision are never deleted: they stay.
                row = _Row(row.head, self.undeleted[segment.end - 1], row.new, row.tail)
            self.finals.append(row)
            outer = np.maximum(np.maximum(row.body, row.tail), row.head - self._unchanged_cost(segment))
        self.outer.append(outer)
        return self._trace()

    def _unchanged_cost(self, segment: Segment) -> np.float32:
        return np.float32(0.0 if segment.may_be_unchanged else self.costs.unchanged)

    def _elide(self, row: FloatArray, is_open: bool) -> FloatArray:
        """Skip lines that stay. Where no elision is written, skipping costs; where one is, not skipping does."""
        passed: FloatArray = np.maximum.accumulate(row)
        passed[1:] = passed[:-1]
        passed[0] = _NEVER
        stay, skip = (self.costs.no_elision, 0.0) if is_open else (0.0, self.costs.implied)
        after: FloatArray = np.maximum(row - np.float32(stay), passed - np.float32(skip))
        return after

    def _find_candidates(self, index: int, segment: Segment) -> _Candidates:
        text, stripped = self.snippet.contents[index], self.snippet.stripped[index]
        where = self.original.positions.get(stripped)
        if where is None:
            pairs = self.similar.get(index, ())
            positions = np.array([position for position, _ in pairs], dtype=np.intp)
            scores = np.array([self.costs.similar * alike for _, alike in pairs], dtype=np.float32)
            return _Candidates(positions, np.full_like(scores, _NEVER), scores, np.zeros(len(positions), dtype=bool))
        weight = self.original.weight(stripped)
        exact = self.exact.get(text)
        if exact is None:
            exact = np.fromiter((self.original.contents[j] == text for j in where), dtype=bool, count=len(where))
            self.exact[text] = exact
        factor = np.where(exact, 1.0, self.costs.loose)
        at_edge = index in (segment.start, segment.end - 1)
        edge = self.costs.edge if at_edge else 0.0
        if not stripped and not at_edge:
            weight = self.costs.blank
        body = weight * self.costs.body if stripped else self.costs.blank
        return _Candidates(
            where, (factor * (weight + edge)).astype(np.float32), (factor * body).astype(np.float32), exact
        )

    def _advance(self, row: _Row, index: int, segment: Segment) -> _Row:
        """The states after one more snippet line."""
        each = np.float32(self.costs.insert[1])
        found = self._find_candidates(index, segment)
        self.rows[index] = row
        self.candidates[index] = found
        inserting = np.maximum(np.maximum(row.head, row.body) + self._open_insertion(index), row.new) - each
        body = inserting.copy()
        head, tail = np.full_like(body, _NEVER), np.full_like(body, _NEVER)
        where, exact = found.where, found.exact
        if len(where):
            # A line that is equal only but for blanks is a change, so it leads from the head into the body.
            before = np.where(exact, row.body[where], np.maximum(row.head[where], row.body[where]))
            body[where + 1] = np.maximum(body[where + 1], before + found.inner)
            tail[where + 1] = np.maximum(row.body[where], row.tail[where]) + found.context
            same = where[exact]
            head[same + 1] = row.head[same] + found.context[exact]
        self.undeleted[index] = body
        reach = np.maximum(head, body)
        best = body.copy()
        for deletion in self.deletions:
            peak = np.maximum.accumulate(reach + deletion.ramp)
            deleted = np.where(deletion.last_start >= 0, peak[deletion.last_start], _NEVER)
            np.maximum(best, deleted - deletion.ramp - deletion.start, out=best)
        return _Row(head, best, inserting, tail)

    def _open_insertion(self, index: int) -> FloatArray:
        """What it grants, at each position, to begin a run of new lines with this one."""
        depth = self.snippet.indents[index]
        key = -2 if depth is None else depth
        found = self.by_indent.get(key)
        if found is None:
            before, after = self.indents
            fits = ((before == key) | (after == key)).astype(np.float32)
            found = fits * np.float32(self.costs.indent) - np.float32(self.costs.insert[0])
            self.by_indent[key] = found
        return found

    def _trace(self) -> Placement:
        count = len(self.snippet)
        matches = [-1] * count
        ends: list[tuple[int, int]] = []
        position = self._kept_source(self.outer[-1], self.size, self.segments[-1].open_after)
        for number in range(len(self.segments) - 1, -1, -1):
            segment, final = self.segments[number], self.finals[number]
            high = position
            layer = _best_layer(
                (final.tail[position], _Layer.TAIL),
                (final.body[position], _Layer.BODY),
                (final.head[position] - self._unchanged_cost(segment), _Layer.HEAD),
            )
            for index in range(segment.end - 1, segment.start - 1, -1):
                deletes = index < segment.end - 1 or not segment.open_after
                position, matches[index], layer = self._step_back(index, position, layer, deletes=deletes)
            ends.append((position, high))
            position = self._kept_source(self.outer[number], position, segment.open_before)
        return Placement(matches, ends[::-1])

    def _step_back(self, index: int, position: int, layer: _Layer, *, deletes: bool) -> tuple[int, int, _Layer]:
        """Undo one snippet line: (position before it, its match or -1, layer before it).

        deletes: a deletion may follow the line.
        """
        row, found = self.rows[index], self.candidates[index]
        if layer is _Layer.BODY and deletes:
            position, layer = self._deletion_source(index, position)
        last = position - 1
        if layer is _Layer.HEAD:
            return last, last, _Layer.HEAD
        if layer is _Layer.TAIL:
            return last, last, _best_layer((row.tail[last], _Layer.TAIL), (row.body[last], _Layer.BODY))
        slot = found.slot(last) if layer is _Layer.BODY and position else None
        if slot is not None:
            before = row.body[last] if found.exact[slot] else np.maximum(row.head[last], row.body[last])
            if before + found.inner[slot] >= self.undeleted[index][position]:
                from_body = found.exact[slot] or row.body[last] >= row.head[last]
                return last, last, _Layer.BODY if from_body else _Layer.HEAD
        opened = np.maximum(row.head[position], row.body[position]) + self._open_insertion(index)[position]
        if row.new[position] > opened:
            return position, -1, _Layer.NEW
        return position, -1, _best_layer((row.body[position], _Layer.BODY), (row.head[position], _Layer.HEAD))

    def _deletion_source(self, index: int, position: int) -> tuple[int, _Layer]:
        """Where the deletion that ends at `position` began (`position`: there is none), and in which layer."""
        body = self.undeleted[index]
        row, found = self.rows[index], self.candidates[index]
        head = np.full_like(body, _NEVER)
        same = found.where[found.exact]
        head[same + 1] = row.head[same] + found.context[found.exact]
        reach = np.maximum(head, body)
        best, source, layer = body[position], position, _Layer.BODY
        for deletion in self.deletions:
            until = int(deletion.last_start[position]) + 1
            if until <= 0:
                continue
            reached = reach[:until] + deletion.ramp[:until]
            value = reached.max() - deletion.ramp[position] - deletion.start
            if value > best:
                best, source = value, int(reached.argmax())
                layer = _Layer.HEAD if head[source] > body[source] else _Layer.BODY
        return source, layer

    def _kept_source(self, row: FloatArray, position: int, is_open: bool) -> int:
        """Where the lines that stay, up to `position`, begin."""
        if position == 0:
            return 0
        earlier = int(row[:position].argmax())
        stay = row[position] - np.float32(self.costs.no_elision) if is_open else row[position]
        skip = row[earlier] if is_open else row[earlier] - np.float32(self.costs.implied)
        return earlier if skip >= stay else position
