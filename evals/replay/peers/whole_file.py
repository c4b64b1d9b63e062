"""Predicted outputs: the caller's file is the prediction, and all that remains of it is drafted in every pass."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.core.tally import Tally
from drafts.core.types import DraftReport, DraftRequest


class WholeFile:
    """Drafts the prediction from the place after the last matched token to its end, whatever that costs.

    After a departure the place is the next one, in order, at which the prediction repeats the output's last
    `min_match` tokens; until there is one, nothing is drafted. How the services that offer predicted outputs find the
    place again is not published; this is the plain way.
    """

    def __init__(self, min_match: int = 3) -> None:
        self._min_match = min_match
        self._prediction: list[int] = []
        self._output: list[int] = []
        self._place = 0
        self._following = True
        self._tally = Tally()

    def start(self, request: DraftRequest) -> None:
        self._prediction = list(request.original)
        self._output = []
        self._place = 0
        self._following = True
        self._tally = Tally()

    def observe(self, tokens: Sequence[int]) -> None:
        self._tally.observed(tokens)
        self._output.extend(tokens)
        if self._following:
            end = self._place + len(tokens)
            if self._prediction[self._place : end] == list(tokens):
                self._place = end
                return
            while self._prediction[self._place : self._place + 1] == [tokens[0]]:
                self._place += 1
                tokens = tokens[1:]
            self._following = False
        self._find()

    def propose(self, limit: int) -> list[int]:
        draft = self._prediction[self._place : self._place + limit] if self._following else []
        self._tally.proposed(draft, [])
        return draft

    def finish(self) -> DraftReport:
        return self._tally.finish()

    def _find(self) -> None:
        size = self._min_match
        suffix = self._output[-size:]
        if len(suffix) < size:
            return
        for end in range(max(self._place, size), len(self._prediction)):
            if self._prediction[end - 1] == suffix[-1] and self._prediction[end - size : end] == suffix:
                self._place, self._following = end, True
                return
