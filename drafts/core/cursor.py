"""Sources to copy from, and places in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from drafts.core.ngram_index import GrowingIndex, StaticIndex
from drafts.core.tally import Segment
from drafts.core.types import DraftRegion, SourceKind

WINDOW = 512
MAX_MATCH = 24
_MAX_HITS = 24


@dataclass(frozen=True, slots=True)
class Match:
    """The output's last `length` tokens are source[position - length : position]."""

    position: int
    length: int


class Source:
    """Tokens that the output may go on copying. `regions` tile them; without regions all are of one kind."""

    def __init__(
        self, kind: SourceKind, tokens: list[int], regions: Sequence[DraftRegion] = (), *, grows: bool = False
    ):
        self.kind = kind
        self.tokens = tokens
        self._regions = regions
        self._ends = [region.end for region in regions]
        self._grows = grows
        self._index: StaticIndex | GrowingIndex | None = None
        self._array = np.empty(0, dtype=np.int64)

    def segments(self, start: int) -> Iterator[Segment]:
        """Runs of one region from `start` to the end."""
        size = len(self.tokens)
        if not self._regions:
            if start < size:
                yield Segment(-1, self.kind, size - start)
            return
        index = min(bisect_right(self._ends, start), len(self._ends) - 1)
        while start < size:
            last = index == len(self._ends) - 1
            end = size if last else self._ends[index]
            if end > start:
                yield Segment(index, self._regions[index].kind, end - start)
            start = max(start, end)
            index += 1

    def search(self, output: list[int], near: int) -> Match | None:
        """The longest match of the output's end. Among equals: from `near` on, the nearest; then before it.

        Close after `near` a single token may be evidence; elsewhere it takes an n-gram.
        """
        best: Match | None = None
        for position in self._candidates(output, near):
            length = self._match_length(output, position)
            if length and (best is None or length > best.length):
                best = Match(position, length)
                if length >= MAX_MATCH:
                    break
        return best

    def _candidates(self, output: list[int], near: int) -> Iterator[int]:
        if self._index is None:
            self._index = GrowingIndex(self.tokens) if self._grows else StaticIndex(self.tokens)
            self._array = np.empty(0, dtype=np.int64) if self._grows else np.asarray(self.tokens, dtype=np.int64)
        if not self._grows and output:
            window = self._array[near : near + WINDOW]
            for hit in np.flatnonzero(window == output[-1])[:_MAX_HITS]:
                yield near + int(hit) + 1
        yield from self._index.find(output[-MAX_MATCH:], near)

    def _match_length(self, output: list[int], position: int) -> int:
        tokens = self.tokens
        limit = min(MAX_MATCH, position, len(output))
        length = 0
        while length < limit and tokens[position - 1 - length] == output[-1 - length]:
            length += 1
        return length


@dataclass(slots=True)
class Cursor:
    """The next token is expected to be source.tokens[position].

    run: how many tokens up to here agree with the output: the evidence that this is the right place.
    guess: the rule that chose the place (see copy_drafter), until the next token proves it.
    """

    source: Source
    position: int
    run: int
    guess: str | None = None

    def remaining(self) -> int:
        return len(self.source.tokens) - self.position

    def follow(self, tokens: Sequence[int]) -> int:
        """Advance over as many of `tokens` as the source agrees with; how many that was."""
        expected = self.source.tokens
        position = self.position
        end = position + len(tokens)
        if expected[position:end] == list(tokens):
            count = len(tokens)
        else:
            count = 0
            limit = min(len(tokens), len(expected) - position)
            while count < limit and expected[position + count] == tokens[count]:
                count += 1
        self.position += count
        self.run += count
        return count
