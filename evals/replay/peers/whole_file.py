"""Predicted outputs: the caller's file is the prediction, and all that remains of it is drafted in every pass."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.core.tally import Tally
from drafts.core.types import DraftReport, DraftRequest

# How much of the output's end is compared; a place that agrees with all of it is sure.
_LONGEST = 16


class WholeFile:
    """Drafts the prediction from the place after the last matched token to its end, whatever that costs.

    After a departure the place is the one that agrees with the longest end of the output, at least `min_match` tokens
    of it; of several the next after the place of departure, else the last before it. Until there is one, nothing is
    drafted. How the services that offer predicted outputs find the place again is not published; this is a plain way.
    """

    def __init__(self, min_match: int = 3) -> None:
        self._min_match = min_match
        self._reset([])

    def _reset(self, prediction: list[int]) -> None:
        self._prediction = prediction
        self._output: list[int] = []
        self._place: int | None = 0
        self._run = _LONGEST  # tokens that speak for the place
        self._departure = 0
        self._tally = Tally()

    def start(self, request: DraftRequest) -> None:
        self._reset(list(request.original))

    def observe(self, tokens: Sequence[int]) -> None:
        self._tally.observed(tokens)
        self._output.extend(tokens)
        for token in tokens:
            if self._place is not None and self._prediction[self._place : self._place + 1] == [token]:
                self._place += 1
                self._run += 1
            else:
                if self._place is not None and self._run >= _LONGEST:
                    self._departure = self._place
                self._place = None
        if self._place is None:
            self._find()

    def propose(self, limit: int) -> list[int]:
        draft = [] if self._place is None else self._prediction[self._place : self._place + limit]
        self._tally.proposed(draft, [])
        return draft

    def finish(self) -> DraftReport:
        return self._tally.finish()

    def _find(self) -> None:
        ends = [end for end in range(1, len(self._prediction) + 1) if self._prediction[end - 1] == self._output[-1]]
        if not ends:
            return
        runs = {end: self._agreement(end) for end in ends}
        best = max(ends, key=lambda end: (runs[end], end >= self._departure, -abs(end - self._departure)))
        if runs[best] >= self._min_match:
            self._place, self._run = best, runs[best]

    def _agreement(self, end: int) -> int:
        limit = min(_LONGEST, end, len(self._output))
        count = 0
        while count < limit and self._prediction[end - 1 - count] == self._output[-1 - count]:
            count += 1
        return count
