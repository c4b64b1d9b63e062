"""Finding where the output's last tokens occur in a source. Neither building nor looking up grows with the context.

A source is indexed in chunks of CHUNK tokens: the one at the place of interest at once, then a quarter a look-up,
the nearest first. A long file is never indexed at one stroke, and never if the output never leaves its source.

Answers are *next* positions: for an n-gram that ends at source[i], the position i + 1, where a copy would go on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CHUNK = 1024
# Chunks looked into on each side of the place of interest.
_REACH = 16

# An n-gram is one integer, the last token in the lowest bits: quicker to hash than a tuple, and no object that Python's
# garbage collector looks at. Vocabularies have fewer than 2^20 tokens; two ids that share their low bits cost no more
# than a wrong place, which whoever looks at the tokens there finds out.
_BITS = 20
_MASK = (1 << _BITS) - 1
_MAX_N = 3

# Up to so many tokens are indexed one by one.
_FEW = 8


def last_grams(tokens: list[int], end: int) -> tuple[int, ...]:
    """The n-grams before `end` as integers: of one token, of two and of three, as far as there are so many."""
    if end < _MAX_N:
        tokens, end = [0] * _MAX_N + tokens[:end], end + _MAX_N
        return last_grams(tokens, end)[: end - _MAX_N]
    one = tokens[end - 1] & _MASK
    two = (tokens[end - 2] & _MASK) << _BITS | one
    return one, two, (tokens[end - 3] & _MASK) << 2 * _BITS | two


class NgramIndex:
    """The n-grams of a list of tokens, which may grow at its end, for each n of `lengths`. One place is kept a chunk:
    the latest for a list that grows (`newest`), else the earliest."""

    def __init__(self, tokens: list[int], lengths: Sequence[int], *, newest: bool = False) -> None:
        if not 0 < max(lengths) <= _MAX_N:
            raise ValueError(f"n-grams of at most {_MAX_N} tokens are indexed, not of {max(lengths)}")
        # Shortest first. By n and chunk, the place that is kept of each n-gram.
        self._tables: list[tuple[int, list[dict[int, int]]]] = [(n, []) for n in sorted(lengths)]
        self._tokens = tokens
        self._newest = newest
        # By chunk, how many of its places are indexed: in a list that grows from the chunk's beginning on, else from
        # its end on, so that of equal n-grams the place that is kept comes last.
        self._done: list[int] = []
        self._open: set[int] = set()
        # The tables of the chunks that are looked into, nearest first, for this chunk of interest.
        self._nearest = -1
        self._order: list[tuple[int, list[dict[int, int]]]] = []

    def find(self, grams: Sequence[int], near: int) -> list[int]:
        """Positions after occurrences of the longest n-gram that occurs: one a chunk, from `near` on and then before
        it, nearest chunk first. An n-gram at the very end of the list is left out: there is nothing after it.

        grams: what `last_grams` gives.
        """
        size = len(self._tokens)
        if not size:
            return []
        if len(self._done) * CHUNK < size:
            self._add_chunks(size)
        first = min(near // CHUNK, len(self._done) - 1)
        if len(self._open) == 1 and first in self._open:
            self._extend(first, CHUNK)  # the end of a list that grows: by far the most frequent case
        elif self._open:
            self._build(first)
        if first != self._nearest:
            self._arrange(first)
        found: list[int] = []
        for n, chunks in self._order:  # where a shorter one does not occur, no longer one does
            if n > len(grams):
                break
            gram = grams[n - 1]
            places = [chunk[gram] for chunk in chunks if gram in chunk]
            if not places:
                break
            found = places
        return found

    def _add_chunks(self, size: int) -> None:
        while len(self._done) * CHUNK < size:
            self._open.add(len(self._done))
            self._done.append(0)
            for _, chunks in self._tables:
                chunks.append({})
        self._nearest = -1

    def _arrange(self, first: int) -> None:
        """Put the chunks in the order in which they are looked into."""
        self._nearest = first
        low, high = max(first - _REACH, 0), first + _REACH
        self._order = [(n, chunks[first:high] + chunks[low:first][::-1]) for n, chunks in self._tables]

    def _build(self, first: int) -> None:
        """Index what is not complete: all of the chunk of interest, or about a quarter of a chunk, nearest first."""
        unfinished = self._open
        work = self._extend(first, CHUNK) if first in unfinished else 0
        if work >= CHUNK // 4:
            return
        for distance in range(1, _REACH + 1):
            for number in (first + distance, first - distance):
                if number in unfinished:
                    work += self._extend(number, CHUNK // 4)
                    if work >= CHUNK // 4:
                        return

    def _extend(self, number: int, most: int) -> int:
        """Index what is new in a chunk, which holds the n-grams whose next position is in it, but at most so many of
        its places; how many those were."""
        start, done = number * CHUNK, self._done[number]
        stop = min(start + CHUNK, len(self._tokens))
        piece = stop - start - done
        if piece > most:
            piece = most
        if self._newest:
            begin, end = start + done, start + done + piece
        else:
            begin, end = stop - done - piece, stop - done
        if piece <= _FEW and begin >= _MAX_N:
            self._add_few(number, begin, end)
        else:
            self._add_many(number, begin, end)
        self._done[number] = done = done + piece
        if done == CHUNK or (start + done == stop and not self._newest):
            self._open.discard(number)
        return piece

    def _add_few(self, number: int, begin: int, end: int) -> None:
        grams = [last_grams(self._tokens, place) for place in range(begin, end)]
        for n, chunks in self._tables:
            chunk, shorter = chunks[number], n - 1
            if self._newest:
                for place, gram in enumerate(grams, begin):
                    chunk[gram[shorter]] = place
            else:
                for place in range(end - 1, begin - 1, -1):
                    chunk[grams[place - begin][shorter]] = place

    def _add_many(self, number: int, begin: int, end: int) -> None:
        """[begin, end): the next positions."""
        start = max(begin - self._tables[-1][0], 0)
        tokens = np.array(self._tokens[start : end - 1], dtype=np.int64) & _MASK
        grams, n = tokens, 1
        for wanted, chunks in self._tables:
            while n < wanted:
                grams = grams[:-1] << _BITS | tokens[n:]
                n += 1
            first = max(begin, start + n)  # the next position of the first n-gram that is new
            new = grams[first - start - n :]
            chunk = chunks[number]
            if self._newest:
                chunk.update(zip(new.tolist(), range(first, end), strict=True))
            else:
                # Backwards, so that the earliest place stays.
                chunk.update(zip(new[::-1].tolist(), range(end - 1, first - 1, -1), strict=True))
