"""From changes of lines to a plan whose spans are exact to the byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drafts.align.lines import Lines, byte_length
from drafts.align.plan import Plan, Region, RegionKind, Span


@dataclass(frozen=True, slots=True)
class Change:
    """Lines [start, end) of the original become `lines` (without LF). Empty range: an insertion before `start`."""

    start: int
    end: int
    lines: tuple[str, ...]
    confidence: float


def keep_all(original: str, confidence: float = 0.0) -> Plan:
    """The plan that keeps the whole original."""
    size = byte_length(original)
    region = Region(RegionKind.KEPT, Span(0, size), Span(0, size), confidence)
    return Plan(original, (region,) if size else (), confidence)


def build_plan(
    original: Lines, changes: Sequence[Change], confidence: float, *, final_newline: bool | None = None
) -> Plan:
    """Turn ordered, disjoint changes into a plan.

    final_newline: whether the predicted text ends with LF; None keeps what the original does. A kept region's
    confidence is that of the less sure change next to it, halfway to 1: most of a kept region is right even where
    the edge is not.
    """
    ends_with_newline = original.final_newline if final_newline is None else final_newline
    pieces: list[tuple[RegionKind, int, int, tuple[str, ...], float]] = []
    tight = [change for change in (_tighten(original, change) for change in changes) if change is not None]
    position = 0
    for index, change in enumerate([*tight, None]):
        until = len(original) if change is None else change.start
        if until > position:
            near = [c.confidence for c in (tight[index - 1] if index else None, change) if c is not None]
            sure = min(near, default=confidence)
            kept = original.contents[position:until]
            pieces.append((RegionKind.KEPT, position, until, kept, (1.0 + sure) / 2.0))
        if change is not None:
            pieces.append((_kind(change), change.start, change.end, change.lines, change.confidence))
            position = change.end
    return _assemble(original, pieces, ends_with_newline, confidence)


def _kind(change: Change) -> RegionKind:
    if change.start == change.end:
        return RegionKind.INSERTED
    return RegionKind.REPLACED if change.lines else RegionKind.DELETED


def _tighten(original: Lines, change: Change) -> Change | None:
    """Without the lines at either end that stay as they are; None when nothing is left."""
    start, end, lines = change.start, change.end, change.lines
    head = 0
    while start + head < end and head < len(lines) and original.contents[start + head] == lines[head]:
        head += 1
    tail = 0
    while (
        start + head < end - tail
        and head < len(lines) - tail
        and original.contents[end - 1 - tail] == lines[len(lines) - 1 - tail]
    ):
        tail += 1
    start, end, lines = start + head, end - tail, lines[head : len(lines) - tail]
    return Change(start, end, lines, change.confidence) if start < end or lines else None


def _assemble(
    original: Lines,
    pieces: list[tuple[RegionKind, int, int, tuple[str, ...], float]],
    final_newline: bool,
    confidence: float,
) -> Plan:
    last_text = max((index for index, piece in enumerate(pieces) if piece[3]), default=-1)
    regions: list[Region] = []
    texts: list[str] = []
    written = 0
    offsets = original.offsets
    for index, (kind, start, end, lines, sure) in enumerate(pieces):
        text = "\n".join((*lines, "")) if lines else ""
        if index == last_text and not final_newline:
            text = text[:-1]
        span = Span(offsets[start], offsets[end])
        size = byte_length(text)
        if kind is RegionKind.KEPT and size != len(span):
            # The original's last line, which gains or loses its LF: split it off, the rest stays kept.
            if end - start > 1:
                body = Span(span.start, offsets[end - 1])
                regions.append(Region(kind, body, Span(written, written + len(body)), sure))
                written += len(body)
            tail = Span(offsets[end - 1], span.end)
            size -= tail.start - span.start
            kind, span = RegionKind.REPLACED, tail
        if len(span) or size:
            regions.append(Region(kind, span, Span(written, written + size), sure))
        written += size
        texts.append(text)
    return Plan("".join(texts), tuple(regions), confidence)
