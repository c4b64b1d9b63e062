"""Sources to copy from, and places in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from drafts.core.ngram_index import NgramIndex
from drafts.core.resume import Place
from drafts.core.tally import Segment, agreeing
from drafts.core.token_text import TokenText
from drafts.core.types import DraftRegion, SourceKind

# A cursor that agrees with this many tokens is sure of its place: only then does a departure from it say where the
# source was left, and only then is nothing better looked for.
SURE = 8
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

    @property
    def sure(self) -> bool:
        """Whether the place is known, not guessed."""
        return self.run >= SURE or (self.run > 0 and self.place is Place.START)

    def expected(self) -> int | None:
        tokens = self.source.tokens
        return tokens[self.position] if self.position < len(tokens) else None

    def follow(self, tokens: list[int], agreed: int = 0) -> int:
        """Advance over as many of `tokens` as the source agrees with; how many that was.

        agreed: of the first tokens this is known already.
        """
        expected, position = self.source.tokens, self.position
        count = len(tokens)
        if agreed == count - 1:
            at = position + agreed
            if at >= len(expected) or expected[at] != tokens[agreed]:
                count = agreed
        elif expected[position : position + count] != tokens:
            count = agreeing(expected[position : position + count], tokens, agreed)
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
        self._text = TokenText(tokens, WINDOW)
        self._index = NgramIndex(tokens, _OUTPUT_N_GRAMS if grows else _N_GRAMS, newest=grows)

    def segments(self, start: int, limit: int) -> list[Segment]:
        """Runs of one region in the `limit` tokens from `start` on."""
        stop = min(start + limit, len(self.tokens))
        if start >= stop:
            return []
        if not self._regions:
            return [Segment(-1, self.kind, stop - start)]
        ends, last = self._ends, len(self._ends) - 1
        index = bisect_right(ends, start)
        if index >= last or ends[index] >= stop:  # within one region: by far the most frequent case
            index = min(index, last)
            return [Segment(index, self._regions[index].kind, stop - start)]
        runs: list[Segment] = []
        while start < stop:
            end = stop if index == last else min(ends[index], stop)
            if end > start:
                runs.append(Segment(index, self._regions[index].kind, end - start))
                start = end
            index += 1
        return runs

    def near(self, output: list[int], known: int) -> Cursor | None:
        """The longest match of the output's end that goes on within WINDOW tokens after `known`, the nearest of equals.

        So close a single token may be evidence.
        """
        positions = self._text.after(output[-1], known, _MAX_HITS)
        return self._best(output, positions, Place.NEAR) if positions else None

    def far(self, output: list[int], grams: Sequence[int], known: int) -> Cursor | None:
        """The longest match of the output's last n-grams anywhere, the nearest to `known` of equals."""
        positions = self._index.find(grams, len(self.tokens) if self._grows else known)
        return self._best(output, positions, Place.FAR) if positions else None

    def _best(self, output: list[int], positions: Sequence[int], place: Place) -> Cursor | None:
        """The place before which most tokens agree with the output's end, the first of equals."""
        tokens, most = self.tokens, min(MAX_MATCH, len(output))
        size = len(tokens)
        best = longest = 0
        wanted = output[-1]  # what the token must be that makes a match longer than the best
        for position in positions:
            if not longest < position < size or tokens[position - 1 - longest] != wanted:
                continue
            limit = min(most, position)
            length = 0
            while length < limit and tokens[position - 1 - length] == output[-1 - length]:
                length += 1
            if length > longest:
                best, longest = position, length
                if length >= most:
                    break
                wanted = output[-1 - length]
        return Cursor(self, best, place, longest) if longest else None
