"""Counting what became of draft tokens: the report of one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drafts.core.types import DraftReport, RegionReport, SourceKind


class Segment(NamedTuple):
    """`tokens` consecutive draft tokens from one region (-1: from outside the plan)."""

    region: int
    kind: SourceKind
    tokens: int


# What one segment's tokens met: how many were accepted, and whether the target chose another token after them.
Outcome = tuple[Segment, int, bool]


def agreeing(left: Sequence[int], right: Sequence[int], start: int = 0) -> int:
    """How many tokens at the beginning of both are the same; the first `start` are known to be."""
    limit = min(len(left), len(right))
    while start < limit and left[start] == right[start]:
        start += 1
    return start


class Tally:
    """Holds the pending proposal until the target's tokens are known."""

    def __init__(self) -> None:
        self.report = DraftReport()
        self._pending: list[int] = []
        self._segments: list[Segment] = []
        self._rows: dict[tuple[int, SourceKind], RegionReport] = {}

    @property
    def pending(self) -> list[int]:
        return self._pending

    def proposed(self, tokens: list[int], segments: list[Segment]) -> None:
        """Replaces the pending proposal: one that was never verified is forgotten and not counted."""
        self._pending = tokens
        self._segments = segments

    def observed(self, tokens: Sequence[int]) -> tuple[int, Sequence[Outcome]]:
        """Count one pass that emitted these tokens, the last of them the target's own: how many draft tokens were
        accepted, and outcomes per segment.

        When the target's own token equals the next draft token, the draft was trimmed there (by the scheduler, or by
        the end of the output) and nothing was rejected.
        """
        emitted = tokens if isinstance(tokens, list) else list(tokens)
        report, pending = self.report, self._pending
        drafted, own = len(pending), len(emitted) - 1
        report.target_passes += 1
        report.output_tokens += own + 1
        report.draft_lengths[drafted] = report.draft_lengths.get(drafted, 0) + 1
        if not drafted:
            return 0, ()
        accepted = own
        if own > drafted or emitted[:own] != (pending if own == drafted else pending[:own]):
            accepted = agreeing(pending, emitted[:own])
        trimmed = accepted == own and accepted < drafted and pending[accepted] == emitted[accepted]
        report.drafted += drafted
        report.accepted += accepted
        if not trimmed:
            report.rejected += drafted - accepted

        outcomes: list[Outcome] = []
        left, failing = accepted, not trimmed
        for segment in self._segments:
            region, kind, size = segment
            row = self._rows.get((region, kind))
            if row is None:
                row = self._rows[region, kind] = RegionReport(region, kind)
            row.drafted += size
            row.passes += 1
            if left >= size:
                left -= size
                row.accepted += size
                outcomes.append((segment, size, False))
                continue
            row.accepted += left
            if not trimmed:
                row.rejected += size - left
            if left or failing:
                outcomes.append((segment, left, failing))
            left, failing = 0, False
        self._pending = []
        self._segments = []
        return accepted, outcomes

    def shorten(self, length: int) -> list[int]:
        """Cut the pending proposal to its first `length` tokens; what is left of it."""
        self._pending = self._pending[:length]
        self._segments = clip(self._segments, length)
        return self._pending

    def finish(self) -> DraftReport:
        self.report.regions = sorted(self._rows.values(), key=lambda row: (row.region, row.kind.value))
        return self.report


def clip(segments: list[Segment], limit: int) -> list[Segment]:
    """The first `limit` tokens of `segments`."""
    if len(segments) == 1 and segments[0].tokens <= limit:
        return segments
    clipped: list[Segment] = []
    for segment in segments:
        if limit <= 0:
            break
        clipped.append(segment if segment.tokens <= limit else Segment(segment.region, segment.kind, limit))
        limit -= segment.tokens
    return clipped
