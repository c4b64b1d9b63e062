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


class Outcome(NamedTuple):
    """What one segment's tokens met: `failed` when the target chose another token there."""

    segment: Segment
    accepted: int
    failed: bool


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

    def observed(self, tokens: Sequence[int]) -> list[Outcome]:
        """Count one pass that emitted `tokens`, the last of them the target's own; outcomes per segment.

        When the target's own token equals the next draft token, the draft was trimmed there (by the scheduler, or by
        the end of the output) and nothing was rejected.
        """
        report = self.report
        pending = self._pending
        emitted = tokens if isinstance(tokens, list) else list(tokens)
        own = len(tokens) - 1
        accepted = own
        if own > len(pending) or pending[:own] != emitted[:own]:
            accepted = 0
            while accepted < min(own, len(pending)) and pending[accepted] == tokens[accepted]:
                accepted += 1
        trimmed = accepted == own and accepted < len(pending) and pending[accepted] == tokens[accepted]
        rejected = 0 if trimmed else len(pending) - accepted
        report.target_passes += 1
        report.output_tokens += len(tokens)
        report.drafted += len(pending)
        report.accepted += accepted
        report.rejected += rejected
        report.draft_lengths[len(pending)] = report.draft_lengths.get(len(pending), 0) + 1

        outcomes = []
        left = accepted
        failing = not trimmed and accepted < len(pending)
        for segment in self._segments:
            key = (segment.region, segment.kind)
            row = self._rows.get(key)
            if row is None:
                row = self._rows[key] = RegionReport(region=segment.region, kind=segment.kind)
            taken = min(left, segment.tokens)
            left -= taken
            row.drafted += segment.tokens
            row.accepted += taken
            row.rejected += 0 if trimmed else segment.tokens - taken
            row.passes += 1
            failed = failing and taken < segment.tokens
            if taken or failed:
                outcomes.append(Outcome(segment, taken, failed))
            if failed:
                failing = False
        self._pending = []
        self._segments = []
        return outcomes

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
