"""Finding where the output's last tokens occur in a source. Neither building nor looking up grows with the context.

A source is indexed in chunks of CHUNK tokens, at most about one of them a look-up, the one nearest to the place of
interest first: a long file is never indexed at one stroke, and never if the output never leaves its source.

Answers are *next* positions: for an n-gram that ends at source[i], the position i + 1, where a copy would go on.
"""

from __future__ import annotations

CHUNK = 512
# Chunks looked into on each side of the place of interest.
_REACH = 32

_Gram = tuple[int, ...]


class NgramIndex:
    """The n-grams of n tokens of a list, which may grow at its end. One place is kept a chunk: the latest for a list
    that grows (`newest`), else the earliest."""

    def __init__(self, tokens: list[int], n: int, *, newest: bool = False) -> None:
        self._n = n
        self._tokens = tokens
        self._newest = newest
        self._chunks: list[dict[_Gram, int]] = []
        self._done: list[int] = []
        self._open: set[int] = set()

    def find(self, suffix: list[int], near: int) -> list[int]:
        """Positions after occurrences of the last n tokens of `suffix`: one a chunk, from `near` on and then before
        it, nearest chunk first. An n-gram at the very end of the list is left out: there is nothing after it."""
        if len(suffix) < self._n:
            return []
        while len(self._chunks) * CHUNK < len(self._tokens):
            self._open.add(len(self._chunks))
            self._done.append(max(len(self._chunks) * CHUNK, self._n))
            self._chunks.append({})
        first = min(near // CHUNK, len(self._chunks) - 1)
        if self._open:
            self._build(first)
        gram = tuple(suffix[-self._n :])
        chunks = self._chunks
        ahead = [chunk[gram] for chunk in chunks[first : first + _REACH] if gram in chunk]
        behind = chunks[max(first - _REACH, 0) : first]
        return ahead + [chunk[gram] for chunk in reversed(behind) if gram in chunk]

    def _build(self, first: int) -> None:
        """Index chunks that are not complete, nearest first, until about a chunk's worth of tokens is done."""
        work = 0
        for distance in range(_REACH + 1):
            for number in {first + distance, first - distance} & self._open:
                work += self._extend(number)
                if work > CHUNK // 2:
                    return

    def _extend(self, number: int) -> int:
        """Index what is new in a chunk, which holds the n-grams whose next position is in it; how many those were."""
        begin = self._done[number]
        end = min((number + 1) * CHUNK, len(self._tokens))
        if end == (number + 1) * CHUNK:
            self._open.discard(number)
        if begin >= end:
            return 0
        tokens = self._tokens[begin - self._n : end - 1]
        grams = zip(*(tokens[offset:] for offset in range(self._n)), strict=False)
        chunk = self._chunks[number]
        if self._newest:
            chunk.update(zip(grams, range(begin, end), strict=True))
        else:
            # Backwards, so that the earliest place stays.
            chunk.update(zip(list(grams)[::-1], range(end - 1, begin - 1, -1), strict=True))
        self._done[number] = end
        return end - begin
