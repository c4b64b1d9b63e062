"""Finding where the output's last tokens occur in a source. Look-ups do not grow with the context.

Both indexes answer with *next* positions: for a match that ends at source[i], the position i + 1, which is where
a copy would go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

N = 3
_MAX_PER_GRAM = 16
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def _keys(tokens: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One 64-bit hash for every n-gram of `tokens`, in order."""
    values = tokens.astype(np.uint64)
    count = len(values) - N + 1
    keys = np.zeros(max(count, 0), dtype=np.uint64)
    if count > 0:
        for offset in range(N):
            keys = (keys ^ values[offset : offset + count]) * _MULTIPLIER
            keys ^= keys >> np.uint64(29)
    return keys


class StaticIndex:
    """N-grams of a source that does not change: sorted hashes, built in one go, O(log n) a look-up."""

    def __init__(self, tokens: Sequence[int]) -> None:
        keys = _keys(np.asarray(tokens, dtype=np.int64))
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._next = order + N

    def find(self, suffix: Sequence[int], near: int) -> Iterator[int]:
        """Positions after occurrences of the last N tokens of `suffix`: those from `near` on, nearest first, then the
        ones before it, nearest first. Bounded; a rare hash collision may slip in, so callers compare tokens."""
        if len(suffix) < N or len(self._keys) == 0:
            return
        key = _keys(np.asarray(suffix[-N:], dtype=np.int64))[0]
        low = int(np.searchsorted(self._keys, key, side="left"))
        high = int(np.searchsorted(self._keys, key, side="right"))
        middle = low + int(np.searchsorted(self._next[low:high], near))
        for i in range(middle, min(high, middle + _MAX_PER_GRAM)):
            yield int(self._next[i])
        for i in range(middle - 1, max(low, middle - _MAX_PER_GRAM) - 1, -1):
            yield int(self._next[i])


class GrowingIndex:
    """N-grams of the output so far. `extend_to` is called before a search, so an undisturbed copy never pays for it;
    each token is indexed once."""

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens
        self._done = N - 1
        self._next: dict[tuple[int, ...], list[int]] = {}

    def find(self, suffix: Sequence[int], near: int) -> Iterator[int]:
        """As StaticIndex.find, except that the latest occurrences come first; the output's own end is left out."""
        if len(suffix) < N:
            return
        tokens = self._tokens
        # The n-gram that ends at the last token is the suffix itself: it is indexed at the next search.
        for end in range(self._done, len(tokens) - 1):
            positions = self._next.setdefault(tuple(tokens[end - N + 1 : end + 1]), [])
            positions.append(end + 1)
            if len(positions) > _MAX_PER_GRAM:
                del positions[0]
        self._done = max(self._done, len(tokens) - 1)
        yield from reversed(self._next.get(tuple(suffix[-N:]), ()))
