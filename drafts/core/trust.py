"""How far a plan is drafted that is believed: up to the changes that it is not sure of, or beyond them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt

from drafts.core.guesses import pays, rounded_guess_length
from drafts.core.types import DraftRegion

# So sure a change is no place to stop, however long the text after it.
_CERTAIN = 0.9999
# Tokens after a change within which a wrong end of it shows.
_SOON = 48
# Doubtful places that are weighed against each other in one draft; those after them wait for the next.
_WEIGHED = 16


class Trust:
    """The plan's doubtful changes: where to stop, and the chance that the target goes on there as planned, in order.

    The target's next token shows for free whether a place is right, so a draft may end just before it, and the next
    one begins behind its first token. That costs a pass; to draft over it costs what was drafted in vain. A change may
    be wrong where it begins, or the text soon after it, where more or less was to go: each takes half of the doubt.
    """

    def __init__(self, regions: Sequence[DraftRegion]) -> None:
        self._size = regions[-1].end if regions else 0
        doubts: dict[int, float] = {}
        start = 0
        for region in regions:
            if region.confidence < _CERTAIN:
                half = sqrt(region.confidence)
                for place in (start, region.end + _SOON):
                    doubts[place] = doubts.get(place, 1.0) * half
            start = region.end
        self._positions = sorted(doubts)
        self._chances = [doubts[place] for place in self._positions]

    def length(self, position: int, limit: int, most: int, price: float) -> int:
        """The k from `position` on, at most `limit`; most: the limit of every pass.

        O(1) where no doubt is in reach; else up to 16 of them are weighed.
        """
        positions = self._positions
        end = min(position + limit, self._size)
        low = bisect_left(positions, position)
        high = bisect_left(positions, end, low)
        if low == high:
            return limit
        # What a draft that begins at the end covers: nothing of a text that is over, else as much as any.
        rest = most if end < self._size else 0
        capped = high - low > _WEIGHED
        if capped:
            high = low + _WEIGHED
            end = positions[high]
        stops = [*positions[low:high], end]
        chances = self._chances[low:high]
        reaches = [0] * len(chances)
        for index in reversed(range(len(chances))):
            stop = _stop(chances, reaches, index + 1, price)
            reaches[index] = max(stops[stop] - stops[index], rest if stop == len(chances) else 0)
        stop = _stop(chances, reaches, 0, price)
        if stop == len(chances):
            return end - position if capped else limit
        if stops[stop] > position:
            return stops[stop] - position
        return min(rounded_guess_length(chances[0], price, most), limit)


def _stop(chances: Sequence[float], reaches: Sequence[int], begin: int, price: float) -> int:
    """At which doubt a draft ends whose first one is number `begin`; len(chances): at none. reaches: how many tokens a
    draft covers that begins behind a doubt.
    """
    right = 1.0
    for index in range(begin, len(chances)):
        right *= chances[index]
        if not pays(right, reaches[index], price):
            return index
    return len(chances)
