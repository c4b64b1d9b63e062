"""Sources to copy from, and places in them."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from drafts.core.ngram_index import NgramIndex
from drafts.core.resume import Place
from drafts.core.tally import Segment
from drafts.core.types import DraftRegion, SourceKind

# Tokens of agreement beyond which more of it is no further evidence.
MAX_MATCH = 24
# Lengths of the n-grams that are looked up, longest first; the output's newest tokens are close enough for one.
_N_GRAMS = (3, 2)
_OUTPUT_N_GRAMS = (3, 2, 1)
# Tokens after the last known place in which a single token is evidence, and how many places are tried for it.
WINDOW = 512
_MAX_HITS = 12


@dataclass(slots=True)
class Cursor:
    """The next token is expected to be source.tokens[position].

    place: the rule that chose the place.
    run: how many tokens up to here agree with the output: the evidence that it is right.
    """

    source: Source
    position: int
    place: Place
    run: int = 0

    def expected(self) -> int | None:
        tokens = self.source.tokens
        return tokens[self.position] if self.position < len(tokens) else None

    def follow(self, tokens: list[int]) -> int:
        """Advance over as many of `tokens` as the source agrees with; how many that was."""
        expected = self.source.tokens
        position = self.position
        count = len(tokens)
        if expected[position : position + count] != tokens:
            count = 0
            limit = min(len(tokens), len(expected) - position)
            while count < limit and expected[position + count] == tokens[count]:
                count += 1
        self.position += count
        self.run += count
        return count


class Source:
    """Tokens that the output may go on copying. `regions` tile them; without regions all are of one kind.

    grows: it is the output itself, of which the newest places are the likeliest.
    """

    def __init__(
        self, kind: SourceKind, tokens: list[int], regions: Sequence[DraftRegion] = (), *, grows: bool = False
    ) -> None:
        self.kind = kind
        self.tokens = tokens
        self._regions = regions
        self._ends = [region.end for region in regions]
        self._grows = grows
        self._indexes = [NgramIndex(tokens, n, newest=grows) for n in (_OUTPUT_N_GRAMS if grows else _N_GRAMS)]

    def segments(self, start: int, limit: int) -> list[Segment]:
        """Runs of one region in the `limit` tokens from `start` on."""
        stop = min(start + limit, len(self.tokens))
        if not self._regions:
            return [Segment(-1, self.kind, stop - start)] if start < stop else []
        runs: list[Segment] = []
        last = len(self._ends) - 1
        index = min(bisect_right(self._ends, start), last)
        while start < stop:
            end = stop if index == last else min(self._ends[index], stop)
            if end > start:
                runs.append(Segment(index, self._regions[index].kind, end - start))
                start = end
            index += 1
        return runs

    def near(self, output: list[int], known: int) -> Cursor | None:
        """The longest match of the output's end that goes on within WINDOW tokens after `known`, the nearest of equals.

        So close a single token may be evidence.
        """
        tokens, token = self.tokens, output[-1]
        positions: list[int] = []
        at, stop = known, min(known + WINDOW, len(self.tokens))
        with contextlib.suppress(ValueError):  # list.index has no other way to say that there are no more
            while len(positions) < _MAX_HITS:
                at = tokens.index(token, at, stop) + 1
                positions.append(at)
        return self._best(output, positions, Place.NEAR)

    def far(self, output: list[int], known: int) -> Cursor | None:
        """The longest match of the output's last n-gram anywhere, the nearest to `known` of equals."""
        near = len(self.tokens) if self._grows else known
        for index in self._indexes:
            best = self._best(output, index.find(output, near), Place.FAR)
            if best is not None:
                return best
        return None

    def _best(self, output: list[int], positions: Sequence[int], place: Place) -> Cursor | None:
        tokens = self.tokens
        best, longest = -1, 0
        for position in positions:
            if position >= len(tokens):
                continue
            limit = min(MAX_MATCH, position, len(output))
            length = 0
            while length < limit and tokens[position - 1 - length] == output[-1 - length]:
                length += 1
            if length > longest:
                best, longest = position, length
                if length >= MAX_MATCH:
                    break
        return Cursor(self, best, place, longest) if longest else None
