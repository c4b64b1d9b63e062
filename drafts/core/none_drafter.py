"""Plain decoding as a drafter: it proposes nothing and still reports the passes."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.core.tally import Tally
from drafts.core.types import DraftReport, DraftRequest


class NoneDrafter:
    """Costs nothing."""

    def __init__(self) -> None:
        self._tally = Tally()

    def start(self, request: DraftRequest) -> None:
        self._tally = Tally()

    def observe(self, tokens: Sequence[int]) -> None:
        self._tally.observed(tokens)

    def propose(self, limit: int) -> list[int]:
        return []

    def finish(self) -> DraftReport:
        return self._tally.finish()
